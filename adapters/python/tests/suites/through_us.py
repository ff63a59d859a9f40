"""A namespace of which some names are replaced; the rest are those of the library."""


class Namespace:
    def __init__(self, library, **replaced):
        self.__dict__.update(replaced)
        self._library = library

    def __getattr__(self, name):
        return getattr(self._library, name)


def replace(items, **globals):
    """Gives the modules of these tests other globals."""
    for module in {item.module for item in items}:
        vars(module).update(globals)
