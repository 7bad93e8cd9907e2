"""What Nautilus, Nemo and Caja load: emblems and menu items. Thin: it hands paths to a `View` and does what `states` decides."""

from gi.repository import GObject

from . import states
from .session import Session
from .view import SHOWN

# Files of one path that are remembered: one for each window that shows it.
SAME = 8


class FileSession(Session):
    """With the file manager's own objects for files."""

    def __init__(self):
        super().__init__()
        self._files = {}

    def look(self, file):
        """Puts its emblem on a file if that is known; else has the file manager ask again once it is."""
        path = file.get_location().get_path() if self.view else None
        if path is None:
            return
        is_late = False

        def came(entry):
            emblem = states.emblem(entry)
            if is_late and emblem is not None:
                return file.invalidate_extension_info()
            self._note(path=path, state=entry.state if entry else None, emblem=emblem)
            if entry is not None or self.view.may_be_ours(path):
                self._remember(path, file, emblem)
            else:
                self.view.hide(path)
            if emblem is not None:
                file.add_emblem(emblem)

        self.view.look(path, came)
        is_late = True

    def items(self, files):
        if self.view is None:
            return []
        paths = [file.get_location().get_path() for file in files]
        return states.menu([self.view.known(path) if path else None for path in paths])

    def _remember(self, path, file, emblem):
        self.view.show(path, emblem)
        # Not the files themselves: the file manager decides how long it needs them.
        known = [each for each in self._files.pop(path, []) if each() not in (None, file)]
        self._files[path] = known[-SAME:] + [file.weak_ref()]
        while len(self._files) > SHOWN:
            self._files.pop(next(iter(self._files)))

    def _changed(self, path):
        files = [file for file in (each() for each in self._files.get(path, [])) if file is not None]
        if not files:
            self._files.pop(path, None)
            self.view.hide(path)
        for file in files:
            file.invalidate_extension_info()


def provider(library):
    """The class that a file manager's binding makes an object of; `library` is that of Nautilus, Nemo or Caja."""

    class Synctrain(GObject.GObject, library.InfoProvider, library.MenuProvider):
        __gtype_name__ = f"Synctrain{library._namespace}Provider"

        def __init__(self):
            super().__init__()
            self._session = FileSession()

        def update_file_info(self, file):
            # Not update_file_info_full: nautilus-python 4.0 hands out no handle that could be completed, and what is given late
            # is never shown.
            self._session.look(file)
            return library.OperationResult.COMPLETE

        def get_file_items(self, *arguments):
            # Nemo and Caja say the window first.
            return [self._item(item) for item in self._session.items(arguments[-1])]

        def get_background_items(self, *arguments):
            return []

        def _item(self, item):
            shown = library.MenuItem(name=f"Synctrain::{item.action}", label=item.label, tip=item.tip)
            shown.connect("activate", lambda *_: self._session.perform(item))
            return shown

    return Synctrain
