"""What is known of the directories that a file manager shows. Knows neither GLib nor a file manager: the agent, the clock and the
timer are handed in, and files are whatever has an emblem put on it."""

from collections import OrderedDict, deque

from . import places, states

# Of an answer; how many answers make up a directory at most.
PAGE, PAGES = 1000, 20
# Directories that are remembered, names in them, and files that are told when their emblem changes.
DIRECTORIES, NAMES, SHOWN = 64, 60_000, 5_000
# Seconds: for an answer; until an agent that was not there is asked again; between two looks at what has changed;
# how long an answer is good for when nobody says what changes.
PATIENCE, AWAY, PAUSE, UNWATCHED = 3.0, 5.0, 1.0, 5.0
# Requests under way, and files that wait for them.
UNDER_WAY, WAITING = 4, 10_000

CHANGES = ("files-changed", "folder-changed", "index-updated", "device-connected", "device-disconnected", "policies-changed")
EVERYTHING = ("configuration-changed", "gap")


class Directory:
    """A directory while it is asked for, and what came of it."""

    def __init__(self):
        self.names, self.is_whole, self.is_stale, self.at = {}, False, False, 0.0


class View:
    """`agent` has `ask` and `follow` as `agent.Agent`, `clock` gives seconds, `later(seconds, call)` calls once, `mounts` gives the
    bytes of /proc/self/mountinfo, and `changed(key)` hears of files whose emblem is another one by now."""

    def __init__(self, agent, clock, later, mounts, changed):
        self._agent, self._clock, self._later, self._mounts, self._changed = agent, clock, later, mounts, changed
        self._folders, self._are_folders_asked, self._roots, self._roots_at = None, False, [], 0.0
        self._away_until = 0.0
        self._directories = OrderedDict()
        self._waiting, self._unplaced, self._queue, self._under_way = {}, deque(), deque(), set()
        self._shown = OrderedDict()
        self._stream, self._is_refreshing, self._changed_folders = None, False, set()
        self._is_coming_back = False

    # asking

    def look(self, path, known):
        """Calls `known(entry)` with what the agent says of a path, now or later; None where it says nothing."""
        if self._clock() < self._away_until:
            return known(None)
        if self._folders is None:
            if len(self._unplaced) >= WAITING:
                return known(None)
            self._unplaced.append((path, known))
            return self._ask_folders()
        return self._look(path, known)

    def _look(self, path, known):
        place = places.find(path, self._current_roots())
        if place is None:
            return known(None)
        directory, name = places.shown(place)
        found = self._directories.get(directory)
        if found is not None and self._is_good(found) and (found.is_whole or name in found.names):
            self._directories.move_to_end(directory)
            return known(found.names.get(name))
        waiting = self._waiting.setdefault(directory, [])
        if len(waiting) >= WAITING:
            return known(None)
        waiting.append((name, known))
        return self._ask_for(directory)

    def known(self, path):
        """The entry if it is known already, else None: for menus, which are asked for at once."""
        if self._folders is None:
            return None
        place = places.find(path, self._current_roots())
        if place is None:
            return None
        directory, name = places.shown(place)
        found = self._directories.get(directory)
        return found.names.get(name) if found else None

    def may_be_ours(self, path):
        """Whether to call `show` for a path of which nothing is known: while there is no agent, any may be."""
        return self._folders is None or places.find(path, self._current_roots()) is not None

    def _current_roots(self):
        # A mount may come or go at any moment; reading what is mounted asks no file system.
        if self._clock() - self._roots_at > 1 or not self._roots:
            ids = {id for _, id in self._folders}
            self._roots = self._folders + [root for root in places.mounts(self._mounts()) if root[1] in ids]
            self._roots_at = self._clock()
        return self._roots

    def _is_good(self, directory):
        if directory.is_stale:
            return False
        return self._stream is not None or self._clock() - directory.at < UNWATCHED

    # folders

    def _ask_folders(self):
        if self._are_folders_asked:
            return
        self._are_folders_asked = True
        self._agent.ask("GET", "/v1/folders", None, PATIENCE, self._folders_came)

    def _folders_came(self, status, document):
        self._are_folders_asked = False
        if status == 200:
            self._folders, self._roots = places.folders(document), []
            self._follow()
        elif self._folders is None or status == 0:
            self._leave()
        waiting, self._unplaced = self._unplaced, deque()
        for path, known in waiting:
            if self._folders is None:
                known(None)
            else:
                self._look(path, known)

    def _leave(self):
        """There is no agent, or it does not answer: it is left alone for a while, and nothing is claimed meanwhile."""
        self._away_until = self._clock() + AWAY
        self._folders = None
        self._directories.clear()
        for key, emblem in list(self._shown.items()):
            if emblem is not None:
                self._changed(key)
        self._come_back_later(AWAY)

    # directories

    def _ask_for(self, directory):
        if directory in self._under_way or directory in self._queue:
            return
        self._queue.append(directory)
        self._next()

    def _next(self):
        while self._queue and len(self._under_way) < UNDER_WAY:
            directory = self._queue.popleft()
            self._under_way.add(directory)
            self._ask_part(directory, Directory(), 0)

    def _ask_part(self, directory, found, number):
        target = places.listing(directory, number * PAGE, PAGE)

        def came(status, document):
            entries = [document] if directory[1] is None else document.get("entries") if isinstance(document, dict) else None
            if status != 200 or not isinstance(entries, list):
                return self._came(directory, None, is_away=status == 0)
            for entry in map(states.entry, entries):
                if entry is not None:
                    found.names["" if directory[1] is None else entry.path.rpartition("/")[2]] = entry
            if directory[1] is not None and len(entries) >= PAGE and number + 1 < PAGES:
                self._answer(directory, found.names)
                return self._ask_part(directory, found, number + 1)
            return self._came(directory, found)

        self._agent.ask("GET", target, None, PATIENCE, came)

    def _came(self, directory, found, is_away=False):
        self._under_way.discard(directory)
        if is_away:
            self._leave()
        else:
            # What is not there, or cannot be listed, has no names; it is asked for again when something changes.
            self._keep(directory, found or Directory())
        self._answer(directory, {} if found is None else found.names, is_last=True)
        self._next()

    def _keep(self, directory, found):
        found.is_whole, found.at = True, self._clock()
        self._directories[directory] = found
        self._directories.move_to_end(directory)
        names = sum(len(each.names) for each in self._directories.values())
        while len(self._directories) > 1 and (len(self._directories) > DIRECTORIES or names > NAMES):
            _, oldest = self._directories.popitem(last=False)
            names -= len(oldest.names)

    def _answer(self, directory, names, is_last=False):
        waiting = self._waiting.pop(directory, [])
        left = [] if is_last else [each for each in waiting if each[0] not in names]
        if left:
            self._waiting[directory] = left
        for name, known in waiting:
            if is_last or name in names:
                known(names.get(name))

    # what changes

    def show(self, key, emblem):
        """Remembers which emblem a path has been given; `changed` hears of it when it is another one."""
        self._shown[key] = emblem
        self._shown.move_to_end(key)
        if self._folders is None:
            self._come_back_later(AWAY)
        while len(self._shown) > SHOWN:
            self._shown.popitem(last=False)

    def hide(self, key):
        self._shown.pop(key, None)

    def _follow(self):
        if self._stream is None:
            self._stream = self._agent.follow("/v1/events", self._event, self._lost)

    def _lost(self):
        """Whether the agent comes back is seen when files are looked at, or at the next try here."""
        self._stream = None
        for directory in self._directories.values():
            directory.is_stale = True
        self._come_back_later(AWAY)

    def _come_back_later(self, seconds):
        # While nothing is shown, nobody needs to know; the next file that is looked at asks.
        if self._shown and not self._is_coming_back:
            self._is_coming_back = True
            self._later(seconds, self._come_back)

    def _come_back(self):
        self._is_coming_back = False
        if self._stream is not None and self._folders is not None:
            return
        self._agent.ask("GET", "/v1/folders", None, PATIENCE, self._is_back)

    def _is_back(self, status, document):
        if status != 200:
            if self._folders is not None:
                return self._leave()
            return self._come_back_later(6 * AWAY)
        self._away_until = 0.0
        self._folders, self._roots = places.folders(document), []
        self._follow()
        for key in list(self._shown):
            self._changed(key)

    def _event(self, event):
        kind = event.get("type")
        if kind in EVERYTHING:
            self._folders_may_be_others()
        elif kind not in CHANGES:
            return
        folder = event.get("folder")
        self._changed_folders.add(folder if kind in CHANGES and isinstance(folder, str) else None)
        if not self._is_refreshing:
            self._is_refreshing = True
            self._later(PAUSE, self._refresh)

    def _folders_may_be_others(self):
        if not self._are_folders_asked:
            self._are_folders_asked = True
            self._agent.ask("GET", "/v1/folders", None, PATIENCE, self._folders_came)

    def _refresh(self):
        """Asks again for what has changed and is shown, and forgets what is not shown."""
        folders, self._changed_folders = self._changed_folders, set()
        seen = {}
        if self._folders is not None:
            for key, emblem in self._shown.items():
                place = places.find(key, self._current_roots())
                if place is not None and (None in folders or place[0] in folders):
                    directory, name = places.shown(place)
                    seen.setdefault(directory, []).append((key, name, emblem))
        for directory in list(self._directories):
            if None in folders or directory[0] in folders:
                self._directories[directory].is_stale = True
                if directory not in seen:
                    del self._directories[directory]
        begun, rest = self._clock(), deque(list(seen.items())[-DIRECTORIES:])

        def step():
            if not rest:
                # An agent that is slow because it is busy is asked less often.
                pause = max(PAUSE, 10 * (self._clock() - begun))
                self._is_refreshing = bool(self._changed_folders)
                if self._is_refreshing:
                    self._later(pause, self._refresh)
                return
            directory, shown = rest.popleft()
            left = len(shown)

            def known(key, emblem, entry):
                nonlocal left
                if states.emblem(entry) != emblem:
                    self._changed(key)
                left -= 1
                if left == 0:
                    step()

            self._waiting.setdefault(directory, []).extend(
                (name, lambda entry, key=key, emblem=emblem: known(key, emblem, entry)) for key, name, emblem in shown)
            self._ask_for(directory)

        step()
