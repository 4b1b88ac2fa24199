"""One file per revision, numbered; never edited once released."""
