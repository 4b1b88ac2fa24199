"""Images: bootable systems built from a recipe and named by its digest.

recipe = debian(guest.payload.files().values())
image = await build(pool.stage("image"), recipe, report)      # then pool.publish(staging, pool.image_dir(digest))
line = cmdline(machine.name, machine.id)
"""

from openboxd.images.build import build, load
from openboxd.images.cmdline import cmdline
from openboxd.images.recipe import PayloadFile, Recipe, debian

__all__ = ["PayloadFile", "Recipe", "build", "cmdline", "debian", "load"]
