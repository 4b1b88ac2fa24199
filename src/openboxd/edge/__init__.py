"""Ways in to machines: gates that wait while a machine is swapped, and the HTTPS front (Caddy) before them."""
