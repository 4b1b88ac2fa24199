"""`python -m openboxd.cli.inside`: what the daemon starts."""

from openboxd.cli.inside.nursery import main

main()
