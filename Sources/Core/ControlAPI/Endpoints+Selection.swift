// MARK: - What is kept on this device

extension Endpoints {
    static let selectionEndpoints: [any AnyEndpoint] = [
        select, selection, explain, patterns, setPatterns, extraneous, resolve, remove, free, remoteNeeds, needs, fetch,
    ]

    /// Edits the `.stignore` of each folder that a path is in, all or none of them. `need` and the other totals of
    /// `status` are those of the new selection on return.
    ///
    /// Throws `inexpressiblePath`, `overruled` and `selectionUnusable` with what to do, and `invalidRequest` for a
    /// folder's root.
    package static let select = Endpoint(
        .post, "/v1/selection", "Select or deselect", body(SelectionChange.self), SelectionAnswer.self,
        errors: [.noSuchPath, .inexpressiblePath, .overruled, .selectionUnusable], canBeJob: true)

    /// What is selected by name, in the order of the lines.
    package static let selection = Endpoint(
        .get, "/v1/selection", "What is selected by name", query(Query.folder), lines(SelectedPath.self, isPaged: true),
        errors: [.noSuchFolder, .selectionUnusable])

    package static let explain = Endpoint(
        .get, "/v1/explain", "Why a path is selected or not", query(Query.path), ExplainedPath.self,
        errors: [.noSuchPath, .selectionUnusable])

    package static let patterns = Endpoint(
        .get, "/v1/patterns", "The ignore patterns of a folder", query(Query.text("folder").described("Its id.")),
        IgnorePatterns.self, errors: [.noSuchFolder, .selectionUnusable])

    /// Replaces `.stignore`, and says what the patterns match; with `dryRun` only that. Throws `busy`, and changes nothing, if the
    /// file is not `over` any more.
    package static let setPatterns = Endpoint(
        .post, "/v1/patterns", "Change the ignore patterns of a folder, or see what they match",
        body(PatternsChange.self), PatternsOutcome.self, errors: [.noSuchFolder, .selectionUnusable, .busy])

    /// What is on this disk and not selected. The entries' `size` is that on disk.
    package static let extraneous = Endpoint(
        .get, "/v1/extraneous", "What is on this disk and not selected", query(Query.folder),
        lines(Entry.self, isPaged: true),
        errors: [.noSuchFolder])

    /// Does what was chosen for extraneous files; throws `alreadyExists` if `select` is chosen for one of which others have
    /// another version, `noSuchPath` if nothing is there, `invalidRequest` for what is selected.
    package static let resolve = Endpoint(
        .post, "/v1/extraneous", "Resolve extraneous files", body(ExtraneousResolution.self), ResolutionAnswer.self,
        errors: [.alreadyExists, .noSuchPath], canBeJob: true)

    /// Deletes on all devices. Throws `noSuchPath` if no device has it, `invalidRequest` in a folder that only receives.
    package static let remove = Endpoint(
        .post, "/v1/remove", "Delete on all devices", body(RemovalRequest.self), RemovalAnswer.self,
        errors: [.noSuchPath], canBeJob: true)

    /// Deselects what other devices have, largest and longest unused first, until so much is free.
    package static let free = Endpoint(
        .post, "/v1/free", "Free space", body(SpaceRequest.self), SpaceAnswer.self, errors: [.noSuchFolder],
        canBeJob: true)

    /// What `device` has yet to get of what is known here, each directory before what is in it; throws `failed` if it has
    /// not announced what it has.
    package static let remoteNeeds = Endpoint(
        .get, "/v1/need", if: ["device"], "What is still to be fetched",
        query(
            Query.text("device").described("What this device still needs; without it, what the agent still needs."),
            Query.folder
        ).of({ RemoteNeedQuery(device: $0.0, folder: $0.1) }, { ($0.device, $0.folder) }),
        lines(Entry.self, isPaged: true), errors: [.noSuchDevice, .noSuchFolder])

    /// What is still to be fetched, in that order.
    package static let needs = Endpoint(
        .get, "/v1/need", "What is still to be fetched", query(Query.folder), lines(Entry.self, isPaged: true),
        errors: [.noSuchFolder])

    package static let fetch = Endpoint(
        .post, "/v1/fetch", "Fetch files", body(FetchRequest.self), lines(FetchEvent.self),
        errors: [.noSuchPath, .alreadyExists, .noHolder, .noSpace], canBeJob: true, pace: { _ in .prompt })

}

// MARK: - Versions and conflicts

extension Endpoints {
    static let conflictEndpoints: [any AnyEndpoint] = [
        versions, deleted, versionBytes, restoreVersion, conflicts, conflictDetails, resolveConflicts,
    ]

    /// What is in the archives of replaced and deleted files: of the file, or of all in the directory; nil for all folders.
    /// Names in order, the versions of each oldest first.
    package static let versions = Endpoint(
        .get, "/v1/versions", "Archived versions", query(Query.path.optional),
        lines(ArchivedVersion.self, isPaged: true),
        errors: [.noSuchPath])

    /// Files at and below a path that no device has any more and that are archived here.
    package static let deleted = Endpoint(
        .get, "/v1/deleted", "Deleted files that can be restored", query(Query.path),
        lines(DeletedFile.self, isPaged: true), errors: [.noSuchPath])

    /// Throws `tooLarge` for a version of more than 32 MiB, `noSuchPath` if there is none.
    package static let versionBytes = Endpoint(
        .get, "/v1/versions/bytes", "The bytes of an archived version",
        query(
            Query.path,
            QueryPart(
                fields: [RequestField(name: "at", value: .number(0...Int.max), isRequired: true)],
                write: { (at: Int64) in [("at", String(at))] },
                read: { query in
                    guard let at = try query.count("at") else {
                        throw ControlError(.invalidRequest, "at is missing: a time in seconds since 1970")
                    }
                    return Int64(at)
                })
        ).of({ VersionQuery(path: $0.0, at: $0.1) }, { ($0.path, $0.at) }),
        raw(.bytes("application/octet-stream", hasRanges: false)), errors: [.noSuchPath, .tooLarge])

    /// Puts a copy of an archived version into the file's place, as a new version; what is there goes to the archive.
    /// Throws `confirmationNeeded` if something is there and that was not confirmed, `noSuchPath` if there is no version.
    package static let restoreVersion = Endpoint(
        .post, "/v1/versions/restore", "Restore an archived version", body(VersionRestore.self), RestoredVersion.self,
        errors: [.confirmationNeeded, .noSuchPath])

    /// Conflict copies on this disk, with what they are copies of.
    package static let conflicts = Endpoint(
        .get, "/v1/conflicts", "Conflicts", query(Query.folder), lines(Conflict.self, isPaged: true),
        errors: [.noSuchFolder])

    /// The conflicts of a file, named by itself or a copy, with the differences of texts.
    package static let conflictDetails = Endpoint(
        .get, "/v1/conflicts/details", "The conflicts of a file, with differences", query(Query.path),
        ConflictList.self, errors: [.noSuchPath])

    /// Keeps one version or both, here and on all devices. What goes wrong with one is in its outcome.
    package static let resolveConflicts = Endpoint(
        .post, "/v1/conflicts/resolve", "Keep one version or both", body(ConflictResolution.self), ConflictAnswer.self,
        errors: [.noSuchPath], canBeJob: true)
}
