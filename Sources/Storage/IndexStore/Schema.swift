import GRDB

/// The tables and how they came to be; docs/decisions/index-store.md says why they are so.
enum Schema {
    /// "sytr": marks the file as ours in the header of the database.
    static let applicationID: Int32 = 0x7379_7472

    /// Every migration is for ever: a later one amends, none is edited.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { database in
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: version1)
        }
        migrator.registerMigration("v2") { try $0.execute(sql: version2) }
        migrator.registerMigration("v3-roles") { try $0.execute(sql: roles) }
        migrator.registerMigration("v3-changes") { try $0.execute(sql: changes) }
        migrator.registerMigration("v4-groups") { try $0.execute(sql: groups) }
        migrator.registerMigration("v5-modes") { try $0.execute(sql: modes) }
        migrator.registerMigration("v5-present") { try PresentMigration.run($0) }
        migrator.registerMigration("v6-promises") { try $0.execute(sql: promises) }
        migrator.registerMigration("v7-mounts") { try $0.execute(sql: mounts) }
        migrator.registerMigration("v8-scrubs") { try $0.execute(sql: scrubs) }
        migrator.registerMigration("v9-confirmed") { try $0.execute(sql: confirmed) }
        migrator.registerMigration("v9-bytes") { try $0.execute(sql: announcedBytes) }
        migrator.registerMigration("v10-fetched") { try $0.execute(sql: fetched) }
        migrator.registerMigration("v11-birth") { try $0.execute(sql: birth) }
        migrator.registerMigration("v12-links") { try $0.execute(sql: localLinks) }
        migrator.registerMigration("v13-author") { try $0.execute(sql: author) }
        migrator.registerMigration("v14-completeness") { try $0.execute(sql: completeness) }
        migrator.registerMigration("v15-removals") { try $0.execute(sql: removals) }
        migrator.registerMigration("v16-invitations") { try $0.execute(sql: storedInvitations) }
        migrator.registerMigration("v17-archives") { try $0.execute(sql: archives) }
        migrator.registerMigration("v18-held") { try $0.execute(sql: heldDeletions) }
        return migrator
    }

    /// - `entry.parent` is NULL for a folder's root alone; `winner` is NULL where nobody announces the name, so that
    ///   the entry only stands for a directory on the way to others; `own` is the sequence of what this device
    ///   announces of it.
    /// - `announced.announcer` is a row of `announcer`, or 0 for this device.
    /// - `announced.content` is NULL without blocks, a blob for one block, a `blockList.id` for more.
    /// - `local.inode` is NULL where the name is not on this disk.
    /// - `state.isOpen` is 1 from opening to closing in order.
    private static let version1 = """
        CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), isOpen INTEGER NOT NULL) STRICT;
        INSERT INTO state VALUES (1, 0);
        CREATE TABLE folder (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT NOT NULL, root INTEGER NOT NULL,
            indexID INTEGER NOT NULL, sequence INTEGER NOT NULL,
            localFiles INTEGER NOT NULL, localDirectories INTEGER NOT NULL, localBytes INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE announcer (
            number INTEGER PRIMARY KEY, folder INTEGER NOT NULL, device BLOB NOT NULL, indexID INTEGER NOT NULL,
            maxSequence INTEGER NOT NULL, entries INTEGER NOT NULL, UNIQUE (folder, device)
        ) STRICT;
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, parent INTEGER, name TEXT NOT NULL, winner INTEGER,
            own INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX entryByName ON entry (parent, name);
        CREATE TABLE own (
            folder INTEGER NOT NULL, sequence INTEGER NOT NULL, entry INTEGER NOT NULL,
            PRIMARY KEY (folder, sequence)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE aggregate (
            entry INTEGER PRIMARY KEY, files INTEGER NOT NULL, symlinks INTEGER NOT NULL, directories INTEGER NOT NULL, bytes INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE announced (
            entry INTEGER NOT NULL, announcer INTEGER NOT NULL, sequence INTEGER NOT NULL, flags INTEGER NOT NULL,
            size INTEGER NOT NULL, permissions INTEGER NOT NULL, modified INTEGER NOT NULL,
            nanoseconds INTEGER NOT NULL, modifiedBy INTEGER NOT NULL, version BLOB, content ANY, extra BLOB,
            PRIMARY KEY (entry, announcer)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE blockList (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, uses INTEGER NOT NULL) STRICT;
        CREATE INDEX blockListByKey ON blockList (key);
        CREATE TABLE blockListData (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
        CREATE TABLE local (
            entry INTEGER PRIMARY KEY, flags INTEGER NOT NULL, inode INTEGER, changed INTEGER NOT NULL,
            changedNanoseconds INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE localBlock (
            hash INTEGER NOT NULL, entry INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (hash, entry, block)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE device (id BLOB PRIMARY KEY, lastSeen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE pendingDevice (
            id BLOB PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL, lastSeen INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE pendingFolder (
            folder TEXT NOT NULL, device BLOB NOT NULL, label TEXT NOT NULL, lastSeen INTEGER NOT NULL,
            PRIMARY KEY (folder, device)
        ) STRICT, WITHOUT ROWID;
        """

    /// `change` holds what `log` shows: `kind` is a word of `RecordedChange.Kind`, `device` a short id or NULL.
    private static let changes = """
        CREATE TABLE change (
            folder INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL,
            name TEXT NOT NULL, oldName TEXT, device INTEGER, count INTEGER NOT NULL, PRIMARY KEY (folder, number)
        ) STRICT, WITHOUT ROWID;
        """

    /// `placing` holds what is about to be put into its place; its columns are those of `announced`, but for `content`,
    /// the hash of the blocks.
    private static let version2 = """
        CREATE TABLE placing (
            folder INTEGER NOT NULL, name TEXT NOT NULL, flags INTEGER NOT NULL, size INTEGER NOT NULL,
            permissions INTEGER NOT NULL, modified INTEGER NOT NULL, nanoseconds INTEGER NOT NULL,
            modifiedBy INTEGER NOT NULL, version BLOB, content BLOB, extra BLOB, PRIMARY KEY (folder, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// What is about to be done to the files of a group, each with its `GroupPlacing`; `members` is the same for all of one
    /// group. `expected` is NULL for nothing.
    private static let groups = """
        CREATE TABLE placingGroup (
            folder INTEGER NOT NULL, name TEXT NOT NULL, members INTEGER NOT NULL, source INTEGER NOT NULL,
            sealed INTEGER NOT NULL, expected INTEGER, PRIMARY KEY (folder, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// `announcer.mode` is what the device said last of how much it keeps: a number that the caller gives a meaning, 0 for
    /// nothing.
    private static let modes = "ALTER TABLE announcer ADD COLUMN mode INTEGER NOT NULL DEFAULT 0;"

    /// - `keepNote` has what other devices were asked about (`isGiven` 0) and what they were promised: `KeepRow`.
    /// - `keepPeer.promises` counts transactions that gave the device a promise, `heard` those that it says it gave this one;
    ///   `hasHeardMode` is 1 once it has heard what `keepFolder.mode` says.
    private static let promises = """
        CREATE TABLE keepNote (
            folder INTEGER NOT NULL, name TEXT NOT NULL, device BLOB NOT NULL, isGiven INTEGER NOT NULL,
            standing INTEGER NOT NULL, version BLOB NOT NULL, kind INTEGER NOT NULL, size INTEGER NOT NULL,
            digest BLOB, PRIMARY KEY (folder, name, device, isGiven)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX keepNoteByDevice ON keepNote (folder, device, isGiven, standing, name);
        CREATE TABLE keepPeer (
            folder INTEGER NOT NULL, device BLOB NOT NULL, promises INTEGER NOT NULL DEFAULT 0,
            heard INTEGER NOT NULL DEFAULT 0, hasHeardMode INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (folder, device)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE keepFolder (folder INTEGER PRIMARY KEY, mode INTEGER NOT NULL, since INTEGER) STRICT;
        """

    /// `mountPoint` has where in a folder other file systems were mounted when it was looked at last.
    private static let mounts = """
        CREATE TABLE mountPoint (
            folder INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (folder, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// - `damaged` has files whose bytes are not those that were hashed: `DamagedFile`. `expected` and `found` are hashes over blocks.
    /// - `scrub` has how far the check of what is at and below `path` has come (`isEnded` 0), and the last one that ended.
    private static let scrubs = """
        CREATE TABLE damaged (
            folder INTEGER NOT NULL, name TEXT NOT NULL, inode INTEGER NOT NULL, expected BLOB NOT NULL, found BLOB,
            wrongBlocks INTEGER NOT NULL, blocks INTEGER NOT NULL, noticed INTEGER NOT NULL, PRIMARY KEY (folder, name)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE scrub (
            folder INTEGER NOT NULL, path TEXT NOT NULL, isEnded INTEGER NOT NULL, begun INTEGER NOT NULL,
            updated INTEGER NOT NULL, position TEXT, files INTEGER NOT NULL, bytes INTEGER NOT NULL,
            damaged INTEGER NOT NULL, PRIMARY KEY (folder, path, isEnded)
        ) STRICT, WITHOUT ROWID;
        """

    /// `fetched` has files that somebody fetched into their places although they are not selected: `FetchedFile`.
    private static let fetched = """
        CREATE TABLE fetched (
            folder INTEGER NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
            nanoseconds INTEGER NOT NULL, PRIMARY KEY (folder, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// `state.birth` is when the file of the index came to be, in nanoseconds since 1970, as it was when it was open last; 0: not known.
    private static let birth = "ALTER TABLE state ADD COLUMN birth INTEGER NOT NULL DEFAULT 0"

    /// `state.author` is whose counter this device raises since its index came out of a backup; 0: its own.
    private static let author = "ALTER TABLE state ADD COLUMN author INTEGER NOT NULL DEFAULT 0"

    /// `folder.completeUntil` is when something came to be missing that is selected, in seconds since 1970; 0 while nothing is, NULL
    /// where something always was.
    private static let completeness = "ALTER TABLE folder ADD COLUMN completeUntil INTEGER"

    /// `removal` has folders that are gone from `folder` and whose rows still have to go: their numbers, and their root entries.
    private static let removals = "CREATE TABLE removal (folder INTEGER PRIMARY KEY, root INTEGER NOT NULL) STRICT"
    /// `invitation.isStored` is 1 once all that follows from its use is stored, as it is of those that were used before there was such a
    /// column.
    private static let storedInvitations = """
        ALTER TABLE invitation ADD COLUMN isStored INTEGER NOT NULL DEFAULT 0;
        UPDATE invitation SET isStored = 1 WHERE device IS NOT NULL;
        """

    /// `folder.localSymlinks` counts the symbolic links on this disk, beside `localFiles`. In an index from before there was
    /// such a column they are counted from what this device has: not deleted (flag 8), of a kind from `symlinkToFile` (2) on.
    private static let localLinks = """
        ALTER TABLE folder ADD COLUMN localSymlinks INTEGER NOT NULL DEFAULT 0;
        UPDATE folder SET localSymlinks = links.number FROM (
            SELECT entry.folder AS folder, count(*) AS number
            FROM local
                CROSS JOIN announced ON announced.entry = local.entry AND announced.announcer = 0
                CROSS JOIN entry ON entry.id = local.entry
            WHERE local.inode IS NOT NULL AND announced.flags & 8 = 0 AND announced.flags & 7 >= 2
            GROUP BY entry.folder
        ) AS links WHERE folder.number = links.folder;
        """

    /// `archive` has where outside of a folder its archive was made; empty for a folder from before that was noted, whose archive may
    /// be there without a marker.
    private static let archives = """
        CREATE TABLE archive (folder INTEGER PRIMARY KEY, path TEXT NOT NULL) STRICT;
        INSERT INTO archive SELECT number, '' FROM folder;
        """

    /// `folder.heldDeletions` has how many names are missing while the folder has halted over deletions; NULL if it has not.
    private static let heldDeletions = "ALTER TABLE folder ADD COLUMN heldDeletions INTEGER;"

    /// `confirmedDeletion` has deletions by other devices that a person has confirmed: `mark` is a digest of name and version.
    private static let confirmed = """
        CREATE TABLE confirmedDeletion (
            folder INTEGER NOT NULL, mark INTEGER NOT NULL, PRIMARY KEY (folder, mark)
        ) STRICT, WITHOUT ROWID;
        """

    /// `announcer.bytes` sums the paths and `FolderWriter.byteCount` of what a device announces; an estimate for what was stored
    /// before there was such a sum.
    private static let announcedBytes = """
        ALTER TABLE announcer ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
        UPDATE announcer SET bytes = entries * 64;
        """

    /// - `announcer.role` is an `AnnouncerRole`.
    /// - `declinedFolder` has folders that the user removed, so that no admin's offer brings them back.
    /// - `invitation.digest` is of the secret; `device` has redeemed it, NULL if none has.
    /// - `refused` has a row for each row of `announced` that is no candidate for the global version; `isOpen` is 1 where
    ///   that makes a difference to anybody.
    private static let roles = """
        ALTER TABLE announcer ADD COLUMN role INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE refused (
            announcer INTEGER NOT NULL, isOpen INTEGER NOT NULL, entry INTEGER NOT NULL,
            PRIMARY KEY (announcer, isOpen, entry)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE declinedFolder (folder TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE invitation (
            number INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL, folder TEXT NOT NULL, role TEXT NOT NULL,
            expires INTEGER NOT NULL, device BLOB
        ) STRICT;
        """
}
