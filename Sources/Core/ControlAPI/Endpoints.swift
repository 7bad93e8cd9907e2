/// All verbs of the control API, by subject: one declaration each, for client, server, `openapi.json` and fuzzing.
///
/// Every call throws `ControlError`. A stream's `emit` is called once for each element, in order, and is waited for before
/// the next element is made: that is how a slow reader slows the agent down. When `emit` throws or the calling task is
/// cancelled, the work ends.
package enum Endpoints {
    /// In the order of `openapi.json`.
    package static let all: [any AnyEndpoint] =
        agentEndpoints + deviceEndpoints + folderEndpoints + selectionEndpoints + conflictEndpoints + entryEndpoints
        + uploadEndpoints
        + pageEndpoints + settingsEndpoints
}

// MARK: - The agent

extension Endpoints {
    static let agentEndpoints: [any AnyEndpoint] = [
        status, events, pending, ignored, setIgnored, network, setNetwork, reach, testReach, doctor, syncNow, reload,
        setPaused,
        setPolicies,
        transfers, wait, completion, ready, space, changes,
        changePage,
        resetIndex, stop,
    ]

    package static let status = Endpoint(
        .get, "/v1/status", "The agent, its folders and devices", nothing, AgentStatus.self)

    /// Runs until cancelled. As server-sent events it continues behind `Last-Event-ID`, with an event `gap` where some are
    /// missing.
    package static let events = Endpoint(
        .get, "/v1/events", "What happens from now on, or behind Last-Event-ID",
        RequestCoding<Void>(
            fields: [RequestField(name: "Last-Event-ID", place: .header, value: .text)], read: { _ in () }),
        lines(AgentEvent.self),
        pace: { _ in .endless })

    package static let pending = Endpoint(
        .get, "/v1/pending", "Pending devices and folders", nothing, PendingList.self)

    package static let ignored = Endpoint(
        .get, "/v1/ignored", "Ignored devices and folders", nothing, IgnoredList.self)

    /// Ignores an unknown device or a folder that others offer for good, or ends that; both are no longer pending. Throws
    /// `invalidRequest` for a device that is known or a folder that is shared here.
    package static let setIgnored = Endpoint(
        .patch, "/v1/ignored", "Ignore a device or folder, or end that", body(IgnoreChange.self), Done.self)

    package static let network = Endpoint(
        .get, "/v1/network", "How devices find and reach each other", nothing, NetworkSettings.self)

    /// Answers with the settings that need a restart of the agent.
    package static let setNetwork = Endpoint(
        .patch, "/v1/network", "Switch discovery, relays or port mapping", body(NetworkChange.self), ReloadAnswer.self)

    package static let reach = Endpoint(
        .get, "/v1/reach", "How this device is reached, and what was tried to reach others", nothing, ReachReport.self)

    /// Asks up to three connected synctrain devices to connect to this one; takes 15 s at most.
    package static let testReach = Endpoint(
        .post, "/v1/reach/test", "Have other devices test whether they can connect", nothing, ReachTest.self)

    /// Examines this device; takes some seconds at most.
    package static let doctor = Endpoint(
        .get, "/v1/doctor", "What is wrong with this device, and what would help", nothing, DoctorReport.self)

    /// Dials, and tries again at once what waits for another try. Returns before anything has arrived.
    package static let syncNow = Endpoint(
        .post, "/v1/sync", "Dial, and retry what waits", body(SyncRequest.self), Done.self, errors: [.noSuchFolder])

    /// Takes over what the configuration file says now; answers with the settings that need a restart of the agent. Throws
    /// `confirmationNeeded`, and changes nothing, if the file no longer names any device or any folder and that is not
    /// confirmed.
    package static let reload = Endpoint(
        .post, "/v1/reload", "Read the configuration again", optionalBody(ReloadRequest()), ReloadAnswer.self,
        errors: [.invalidConfiguration, .confirmationNeeded])

    /// Pauses or resumes folders and devices, durably and at once; changes nothing when it throws.
    package static let setPaused = Endpoint(
        .patch, "/v1/pause", "Pause or resume folders and devices", body(PauseChange.self), Done.self,
        errors: [.noSuchFolder, .noSuchDevice])

    /// Suspends the policies of metered connections and batteries, or re-enables them, until the agent ends.
    package static let setPolicies = Endpoint(
        .patch, "/v1/policies", "Suspend or re-enable policies", body(PolicyChange.self), Done.self)

    package static let transfers = Endpoint(
        .get, "/v1/transfers", "Transfers in progress", nothing, TransferList.self)

    /// Returns when all paths are present in their newest version. Throws `timeout` with what is missing, and at once what
    /// cannot end by itself: a path that is not selected, a folder that is paused or has halted.
    package static let wait = Endpoint(
        .post, "/v1/wait", "Wait until paths are present", body(WaitRequest.self), Done.self,
        errors: [.noSuchPath, .notKept, .folderHalted, .timeout])

    /// How much this device and the others have.
    package static let completion = Endpoint(
        .get, "/v1/completion", "How much each device has",
        query(Query.folder, Query.text("device").optional.described("An id, a name or `this`; all devices without it."))
            .of({ CompletionQuery(folder: $0.0, device: $0.1) }, { ($0.folder, $0.device) }),
        CompletionAnswer.self, errors: [.noSuchFolder, .noSuchDevice])

    /// Whether what is selected is here, for each folder.
    package static let ready = Endpoint(
        .get, "/v1/ready", "Whether what is selected is here",
        query(Query.folder).of({ ReadyQuery(folder: $0) }, { $0.folder }), ReadyAnswer.self,
        errors: [.noSuchFolder])

    /// Asks the disks themselves, so that one that does not answer keeps the answer waiting.
    package static let space = Endpoint(
        .get, "/v1/space", "How full the disks of folders and cache are", nothing, SpaceReport.self)

    /// What has changed, oldest first; goes on until cancelled if that is asked for.
    package static let changes = Endpoint(
        .get, "/v1/changes", "What has changed", changeQuery, lines(ChangeEntry.self), errors: [.noSuchPath],
        pace: { $0.isFollowing ? .endless : .batched })

    /// A part of the same, newest first: pages go back in time.
    package static let changePage = Endpoint(
        .get, "/v1/changes", if: ["offset"], "What has changed",
        RequestCoding(
            fields: changeQuery.fields + Query.page().fields,
            query: { page in
                changeQuery.query(page.changes).filter { $0.0 != "limit" } + Query.page().write(page.range)
            },
            read: { incoming in
                let changes = try changeQuery.read(incoming)
                try changes.check()
                return ChangePageQuery(
                    changes: changes, range: try Query.page(isLimitAlone: false).read(incoming.query))
            }),
        raw(.json("ChangePage")), errors: [.noSuchPath])

    private static let changeQuery = query(
        Query.path.optional,
        QueryPart(
            fields: [RequestField(name: "since", value: .number(1...ChangeQuery.longestSince))],
            write: { (since: Int64?) in since.map { [("since", String($0))] } ?? [] },
            read: { try $0.count("since").map { Int64($0) } }),
        Query.number("limit", 1...ChangeQuery.largestLimit, usual: 100), Query.flag("follow")
    ).of(
        { ChangeQuery(path: $0.0, since: $0.1, limit: $0.2, isFollowing: $0.3) },
        { ($0.path, $0.since, $0.limit, $0.isFollowing) })

    /// Removes the index of the folder (of all folders for nil) and gets it again from the peers. Files stay untouched.
    package static let resetIndex = Endpoint(
        .post, "/v1/index/reset", "Rebuild an index from the peers", body(IndexReset.self), Done.self,
        errors: [.noSuchFolder])

    /// Ends the agent once the answer is on its way.
    package static let stop = Endpoint(.post, "/v1/stop", "Stop the agent", nothing, Done.self)
}
