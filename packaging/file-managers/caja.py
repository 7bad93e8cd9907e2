"""synctrain in Caja: emblems and menu items for files of synced folders and mounts."""

import os
import sys

from gi.repository import Caja

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../synctrain/file-managers"))
from synctrain_files.provider import provider  # noqa: E402

Synctrain = provider(Caja)
