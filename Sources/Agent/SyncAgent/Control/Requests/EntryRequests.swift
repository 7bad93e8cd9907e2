import AgentContext
import BlockExchange
import ControlAPI
import FolderSync
import IndexStore
import ThumbnailService
import Thumbnails

/// What there is: entries of directories, names that are searched for, and small pictures.
struct EntryRequests: RequestGroup {
    let finder: FolderFinder
    let entries: EntrySource
    let index: IndexStore
    let configuration: RunningConfiguration
    let thumbnails: ThumbnailBoard
    let time: AgentTime
    private let listings = ListingCache()
    private let searches = SearchCache()

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.stat) { try await entries.stat($0) }
        table.on(Endpoints.entryPage) { try await page($0) }
        table.on(Endpoints.list) { try await list($0, emit: $1) }
        table.on(Endpoints.searchPage) { try await search($0) }
        table.on(Endpoints.search) { try await search($0, emit: $1) }
        table.on(Endpoints.thumbnail) { try await thumbnail($0) }
    }

    private func list(_ query: ListQuery, emit: @Sendable (Entry) async throws -> Void) async throws {
        let (folder, path) = try finder.resolve(query.path)
        let order = EntryOrder(sort: query.sort, isDescending: query.isDescending)
        try await entries.reader(folder).list(path, isRecursive: query.isRecursive, order: order, emit: emit)
    }

    private func search(_ query: FindQuery, emit: @Sendable (Entry) async throws -> Void) async throws {
        let filter = try nameFilter(query.filter, text: query.text)
        let only = try query.folder.map { try finder.folder($0).id }
        let result = try await index.search(
            query.text, in: only, filter: filter, limit: InternalContent.limit(for: query.limit))
        for found in result.shown(to: query.text, limit: query.limit).entries {
            guard let folder = finder.folders.folder(found.folder) else { continue }
            try await emit(try await entries.reader(folder).entry(found))
        }
    }

    private func page(_ query: EntryQuery) async throws -> EntryPage {
        let (folder, path) = try finder.resolve(query.path)
        return try await entries.reader(folder).page(of: path, query, listings, now: time.monotonic)
    }

    private func search(_ query: SearchQuery) async throws -> EntryPage {
        let key = SearchCache.Key(
            text: query.text, folder: try query.folder.map { try finder.folder($0).id },
            filter: try nameFilter(query.filter, text: query.text))
        let result: SearchResult
        if query.offset > 0, let kept = searches.result(key, now: time.monotonic()) {
            result = kept
        } else {
            let limit = PageLimits.found
            result = try await index.search(
                query.text, in: key.folder, filter: key.filter, limit: InternalContent.limit(for: limit)
            ).shown(to: query.text, limit: limit)
            searches.keep(result, key, now: time.monotonic())
        }
        var shown: [Entry] = []
        for found in result.entries.dropFirst(query.offset).prefix(query.limit) {
            guard let folder = finder.folders.folder(found.folder) else { continue }
            shown.append(try await entries.reader(folder).entry(found))
        }
        return EntryPage(
            entries: shown, offset: query.offset, total: result.entries.count,
            isTruncated: result.isTruncated ? true : nil, isIncomplete: result.isIncomplete ? true : nil)
    }

    /// What the index is asked for. Throws `invalidRequest` if there is neither a text nor a filter, and `noSuchDevice`.
    private func nameFilter(_ filter: SearchFilter, text: String) throws -> NameFilter {
        guard !text.isEmpty || !filter.isEmpty else {
            throw ControlError(.invalidRequest, "enter part of a name to search for, or choose a filter")
        }
        try filter.check()
        var found = NameFilter()
        found.endings = filter.kind.map { kind in
            kind == .other
                ? NameFilter.Endings(SearchFilter.Kind.allCases.flatMap(\.endings), isExcluding: true)
                : NameFilter.Endings(kind.endings)
        }
        if filter.since != nil || filter.before != nil {
            // Checked: `since` is earlier.
            let end = filter.before.map { $0.subtractingClamped(1) } ?? .max
            found.modified = min(filter.since ?? .min, end)...end
        }
        if filter.over != nil || filter.under != nil { found.size = (filter.over ?? 0)...(filter.under ?? .max) }
        let connected = entries.fetching.sessions(configuration.current.devices.map(\.id))
        switch filter.device {
        case nil: break
        case SearchFilter.here?: found.place = .here
        case SearchFilter.nobody?: found.place = .offline(Set(connected.keys))
        case let device?:
            do {
                found.place = .device(try configuration.current.device(device).id)
            } catch {
                throw ControlError(error)
            }
        }
        return found
    }

    private func thumbnail(_ reference: PathReference) async throws -> [UInt8] {
        guard configuration.atStart.thumbnails.isEnabled else {
            throw ControlError(
                .thumbnailsOff,
                "thumbnails are switched off; set `enabled = true` in [thumbnails] and restart the agent")
        }
        let (folder, path) = try finder.resolve(reference)
        guard let found = try await index.global(folder.id, path), found.isPresent,
            let file = try await index.file(folder.id, path)
        else {
            throw ControlError(
                .noSuchPath, "\(path) is not in the index of \(folder.id); `synctrain search` finds names",
                path: path)
        }
        guard let subject = ThumbnailSubject(folder: folder.id, file: file, holders: found.holders) else {
            throw ControlError(
                .noThumbnail, "\(path): no thumbnail, because its name is not that of a picture or film", path: path)
        }
        return try await thumbnails.thumbnail(of: subject)
    }
}
