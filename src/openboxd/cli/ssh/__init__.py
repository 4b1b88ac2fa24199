"""The user's own SSH client: what `boxd machine ssh-config` writes for it."""
