"""The mark that ties a test to the line of tests/requirements/ it shows: `@requirement("spells:G3")`."""

import pytest

requirement = pytest.mark.requirement
