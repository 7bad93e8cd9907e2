// MARK: - Entries and bytes

extension Endpoints {
    static let entryEndpoints: [any AnyEndpoint] = [
        stat, entryPage, list, searchPage, search, whereis, notes, changeNotes, file, archive, member, thumbnail, link,
    ]

    package static let stat = Endpoint(
        .get, "/v1/stat", "One entry with its details", query(Query.path), Entry.self, errors: [.noSuchPath])

    /// A part of what is in a directory, or a file's own entry.
    package static let entryPage = Endpoint(
        .get, "/v1/entries", if: ["limit", "offset"], "What is in a directory",
        query(
            Query.path, Query.page(), Query.choice("sort", usual: EntrySort.name),
            Query.choice("order", usual: Order.asc), Query.choice("filter", usual: EntryQuery.Filter.all),
            beginning, oneDirectory
        ).of(
            {
                EntryQuery(
                    path: $0.0, offset: $0.1.offset, limit: $0.1.limit, sort: $0.2, isDescending: $0.3 == Order.desc,
                    filter: $0.4, beginning: $0.5)
            },
            {
                (
                    $0.path, PageRange(offset: $0.offset, limit: $0.limit), $0.sort,
                    $0.isDescending ? Order.desc : .asc,
                    $0.filter, $0.beginning, ()
                )
            }),
        pageOfEntries, errors: [.noSuchPath])

    /// The entries in a directory, or a file's own; with `isRecursive` all below, each directory before what is in it.
    package static let list = Endpoint(
        .get, "/v1/entries", "What is in a directory",
        query(
            Query.path, Query.flag("recursive"), Query.choice("sort", usual: EntrySort.name),
            Query.choice("order", usual: Order.asc)
        ).of(
            { ListQuery(path: $0.0, isRecursive: $0.1, sort: $0.2, isDescending: $0.3 == Order.desc) },
            { ($0.path, $0.isRecursive, $0.sort, $0.isDescending ? Order.desc : .asc) }),
        lines(Entry.self), errors: [.noSuchPath])

    /// A part of what a search finds, by folder and path. The pages behind the first are of the same search.
    package static let searchPage = Endpoint(
        .get, "/v1/search", if: ["offset"], "Names that contain a text",
        query(sought, Query.page(isLimitAlone: false), anyFolder).of(
            { SearchQuery(text: $0.0.text, folder: $0.2, filter: $0.0.filter, offset: $0.1.offset, limit: $0.1.limit) },
            { ((text: $0.text, filter: $0.filter), PageRange(offset: $0.offset, limit: $0.limit), $0.folder) }),
        pageOfEntries, errors: [.noSuchFolder, .noSuchDevice])

    /// Entries whose name (whose path, if `text` has a `/`) contains `text`, upper and lower case alike, and that the
    /// filter is true of; `limit` ends the search after so many (`.max`: all).
    package static let search = Endpoint(
        .get, "/v1/search", "Names that contain a text",
        query(
            sought, anyFolder,
            QueryPart(
                fields: [RequestField(name: "limit", value: .number(1...Int.max))],
                write: { (limit: Int) in limit == .max ? [] : [("limit", String(limit))] },
                read: { try $0.count("limit") ?? .max })
        ).of(
            { FindQuery(text: $0.0.text, folder: $0.1, filter: $0.0.filter, limit: $0.2) },
            { ((text: $0.text, filter: $0.filter), $0.folder, $0.limit) }),
        lines(Entry.self), errors: [.noSuchFolder, .noSuchDevice])

    package static let whereis = Endpoint(
        .get, "/v1/whereis", "Which devices have a file", query(Query.path), Whereabouts.self, errors: [.noSuchPath])

    /// The notes of a path, which need not exist.
    package static let notes = Endpoint(
        .get, "/v1/notes", "The notes of a path", query(Query.path), Notes.self, errors: [.noSuchFolder])

    /// Throws `invalidRequest` for what is not a key or value, and `tooLarge` for too many.
    package static let changeNotes = Endpoint(
        .post, "/v1/notes", "Change notes", body(NoteChange.self), Notes.self, errors: [.noSuchFolder, .tooLarge])

    /// See `AgentControl.read`.
    package static let file = Endpoint(
        .get, "/v1/file", "A file's bytes", query(Query.path, others: [download, range]),
        raw(.bytes("*/*", hasRanges: true)),
        errors: [.noSuchPath, .gone, .noHolder, .rangeNotSatisfiable])

    /// What is in a zip or an ISO image; only the blocks that are needed are fetched. Throws `invalidRequest` for what is
    /// not an archive, `failed` for a damaged one and `tooLarge` for one beyond the limits.
    package static let archive = Endpoint(
        .get, "/v1/archive", "What is in a zip or an ISO image",
        query(
            Query.path,
            Query.number("limit", 1...ArchiveQuery.largestLimit, usual: ArchiveQuery.largestLimit, read: plainNumber),
            Query.number("offset", 0...PageLimits.offset, usual: 0, read: plainNumber)
        ).of(
            { ArchiveQuery(archive: $0.0, offset: $0.2, limit: $0.1) }, { ($0.archive, $0.limit, $0.offset) }),
        ArchiveListing.self, errors: [.noSuchPath, .noHolder, .tooLarge])

    /// See `AgentControl.readMember`.
    package static let member = Endpoint(
        .get, "/v1/archive/member", "A member's bytes",
        query(
            Query.path, Query.text("member", longest: ControlLimits.path).described("As the archive names it."),
            others: [download, range]
        )
        .of({ MemberReference(archive: $0.0, member: $0.1) }, { ($0.archive, $0.member) }),
        raw(.bytes("*/*", hasRanges: true)), errors: [.noSuchPath, .gone, .noHolder, .rangeNotSatisfiable])

    /// A JPEG of a picture or film, present or not, whose sides have at most 255 pixels. Throws `noThumbnail` if there is
    /// none; `thumbnailsOff` with what to install; `busy` if too many newer ones are waited for; and what fetching throws.
    /// Cancelling ends what nobody else waits for.
    package static let thumbnail = Endpoint(
        .get, "/v1/thumbnail", "A thumbnail of a photo or film", query(Query.path),
        raw(.bytes("image/jpeg", hasRanges: false)),
        errors: [.noSuchPath, .noThumbnail, .thumbnailsOff, .busy, .noHolder])

    /// Makes a link to a file of the global index for any program of this machine. Throws `invalidRequest` for what is not
    /// a file, and `failed` if nothing listens for HTTP, with the reason.
    package static let link = Endpoint(
        .post, "/v1/links", "Make a signed link to a file", body(LinkRequest.self), FileLink.self,
        errors: [.noSuchPath, .gone])

    private enum Order: String, CaseIterable { case asc, desc }

    private static let download = RequestField(name: "download", value: .flag)
    private static let range = RequestField(name: "Range", place: .header, value: .text)

    private static let beginning = Query.text("beginning", longest: ControlLimits.path).optional.described(
        "Begins with the first name at or after `offset`, or else before it, that begins with this.")

    private static let oneDirectory = QueryPart<Void>(
        fields: [], write: { [] },
        read: { query in
            guard try !query.flag("recursive") else {
                throw ControlError(.invalidRequest, "Use either `recursive` or `limit`, not both.")
            }
        })

    /// As `Query.folder`, but an empty one is a folder that there is not.
    private static let anyFolder = QueryPart(
        fields: Query.folder.fields, write: { (folder: String?) in folder.map { [("folder", $0)] } ?? [] },
        read: { $0["folder"] })

    /// The text that names contain; optional with a filter.
    private static let sought = QueryPart<(text: String, filter: SearchFilter)>(
        fields: [
            RequestField(name: "text", value: .text(length: 0...Int.max), description: "Needed without a filter.")
        ] + SearchFilter.part.fields,
        write: { ($0.text.isEmpty ? [] : [("text", $0.text)]) + SearchFilter.part.write($0.filter) },
        read: { query in
            let (text, filter) = (query["text"] ?? "", try SearchFilter.part.read(query))
            guard !text.isEmpty || !filter.isEmpty else {
                throw ControlError(.invalidRequest, "A search needs text=… or a filter.")
            }
            return (text, filter)
        })

    private static let plainNumber: @Sendable (RequestQuery, String) throws -> Int? = { query, name in
        guard let text = query[name] else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw ControlError(.invalidRequest, "\(name) must be a number, not \(text.prefix(40)).")
        }
        return number
    }
}

// MARK: - What the page asks besides

extension Endpoints {
    static let pageEndpoints: [any AnyEndpoint] = [logIn, logOut, setPassword, jobs, job, endJob, records, description]

    /// Makes a link that logs one browser in. Throws `failed` if nothing listens for HTTP, with the reason, and
    /// `noSuchPath` for a path that is in no folder.
    package static let logIn = Endpoint(
        .post, "/v1/sessions", "Make a link that logs one browser in; on the socket only", optionalBody(LoginRequest()),
        LoginLink.self, errors: [.noSuchPath])

    /// Logs all browsers out and ends the answers that they are still getting.
    package static let logOut = Endpoint(.delete, "/v1/sessions", "Log all browsers out", nothing, LogOutAnswer.self)

    /// Sets the password with which browsers on other machines log in, and logs all browsers out.
    package static let setPassword = Endpoint(
        .post, "/v1/password", "Set the page's password and log all browsers out; on the socket only",
        body(PasswordChange.self), PasswordAnswer.self)

    package static let jobs = Endpoint(
        .get, "/v1/jobs", "Jobs that run and that have ended", nothing, raw(.json("JobList")))

    package static let job = Endpoint(
        .get, "/v1/jobs/{id}", "One of them", pathNumber, raw(.json("JobDocument")), errors: [.notFound])

    package static let endJob = Endpoint(
        .delete, "/v1/jobs/{id}", "Cancel one that runs, remove one that has ended", pathNumber, Done.self,
        errors: [.notFound])

    package static let records = Endpoint(
        .get, "/v1/records", "Lines of the agent's own log",
        query(
            Query.number("limit", 1...RecordQuery.largestLimit, usual: RecordQuery.usual),
            Query.choice("level", usual: LogRecord.Level.info), Query.flag("follow")
        ).of({ RecordQuery(limit: $0.0, level: $0.1, isFollowing: $0.2) }, { ($0.limit, $0.level, $0.isFollowing) }),
        lines(LogRecord.self), pace: { $0.isFollowing ? .endless : .batched })

    package static let description = Endpoint(
        .get, "/v1/openapi.json", "This document", nothing, raw(.json("OpenAPI")))
}
