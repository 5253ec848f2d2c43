"""Imports every module that registers commands. Help texts and light modules only: heavy imports stay inside commands."""
