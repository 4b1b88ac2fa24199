"""Builds everything and hands the drivers to the workers."""
