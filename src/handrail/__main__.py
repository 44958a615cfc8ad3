"""`python -m handrail` is the program `handrail`."""

from handrail.app import main

main()
