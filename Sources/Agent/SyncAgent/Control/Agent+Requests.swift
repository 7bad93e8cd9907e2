import BlockExchange
import ControlAPI
import FileDrop
import MountProtocol
import MountServer
import Pairing
import SyncDecisions
import ThumbnailService
import Transport

/// What the agent answers, and by whom.
extension Agent {
    /// The table that the server asks.
    package var handlers: EndpointHandlers {
        let files = files
        let archives = ArchiveRequests(files: files)
        var table = EndpointHandlers(
            bytes: EndpointHandlers.Bytes(
                read: { try await files.read($0, range: $1, start: $2, emit: $3) },
                readMember: { try await archives.readMember($0, range: $1, start: $2, emit: $3) },
                memberFacts: { try await archives.memberFacts($0) }),
            events: { [events] in try await events.stream(after: $0, begin: $1, emit: $2) },
            failure: { ControlError(describing: $0) })
        for group in requestGroups { group.add(to: &table) }
        table.on(Endpoints.stop) { [setup] _ in setup.requestStop() }
        return table
    }

    /// Tells people of what happens on `board`.
    func noticeFollower(_ board: any NoticeBoard) -> NoticeFollower {
        let (configuration, status) = (configuration, statusRequests)
        return NoticeFollower(
            board: board, isEnabled: { configuration.current.notifications.isEnabled },
            facts: { NoticeFacts(try await status.status().folders, try await status.pendingList().devices) },
            events: events, time: setup.time)
    }

    /// Keeps the icon on `board` true.
    func trayFollower(_ board: any TrayBoard) -> TrayFollower {
        let (configuration, status) = (configuration, statusRequests)
        return TrayFollower(
            board: board, isEnabled: { configuration.current.desktop.hasTray }, status: { try await status.status() },
            events: events, time: setup.time)
    }

    /// Pauses or resumes all folders and devices, as `synctrain pause --all` does.
    ///
    /// - Throws: `ConfigurationError` when the configuration cannot be written.
    package func setAllPaused(_ isPaused: Bool) async throws {
        let now = setup.time.wall().seconds
        try await changes.edit { try $0.edits(applying: PauseChange(isAll: true, isPaused: isPaused), now: now) }
    }

    private var statusRequests: StatusRequests {
        StatusRequests(
            configuration: configuration, finder: finder, devices: devices, index: index, listeners: listeners,
            transfers: transfers, policies: policies.policies, thumbnails: thumbnails, pending: pending,
            discovery: discovery, web: setup.web, radio: setup.radio, mounts: mountKeeper, startedAt: startedAt)
    }

    var requestGroups: [any RequestGroup] {
        let time = setup.time
        let status = statusRequests
        let outlook = FolderOutlookReading(localDevice: configuration.localDevice, devices: devices, index: index)
        let reach = ReachRequests(reach: reach, devices: devices, listeners: listeners, time: time)
        return [
            status, reach,
            DoctorRequests(
                status: status, reach: reach,
                examine: setup.examine, devices: devices, index: index, thumbnails: thumbnails,
                threads: fetching.threads, time: time),
            SettingsRequests(
                configuration: configuration, changes: changes, finder: finder, devices: devices, index: index,
                places: setup.places, time: time),
            MountRequests(
                finder: finder, configuration: configuration, changes: changes, keeper: mountKeeper,
                places: setup.places),
            TransferRequests(finder: finder, devices: devices, transfers: transfers, policies: policies),
            WaitRequests(finder: finder, outlook: outlook, index: index, events: events, time: time),
            ReadyRequests(
                finder: finder, configuration: configuration, devices: devices, index: index, transfers: transfers,
                fetching: fetching),
            DiskRequests(
                finder: finder, index: index, transfers: transfers, fetching: fetching, cache: cache),
            ClusterRequests(
                finder: finder, entries: entries, configuration: configuration, devices: devices, index: index),
            ChangeRequests(finder: finder, configuration: configuration, index: index, events: events, time: time),
            SelectionRequests(finder: finder, changes: changes),
            FolderRequests(
                finder: finder, entries: entries, configuration: configuration, devices: devices,
                places: setup.places),
            DirectoryRequests(configuration: configuration, places: setup.places, threads: fetching.threads),
            EntryRequests(
                finder: finder, entries: entries, index: index, configuration: configuration, thumbnails: thumbnails,
                time: time),
            NoteRequests(finder: finder),
            UploadRequests(finder: finder, uploads: uploads),
            VersionRequests(finder: finder),
            FetchRequests(
                finder: finder, outlook: outlook, index: index, devices: devices, fetching: fetching,
                transfers: transfers),
            ArchiveRequests(files: files),
            linkRequests,
            PairingRequests(
                pairing: pairing, environment: pairingEnvironment, finder: finder, dialer: dialer,
                listeners: listeners, tasks: tasks),
            InvitationRequests(
                invitations: invitations, finder: finder, configuration: configuration, index: index,
                listeners: listeners, reach: self.reach, time: time, logger: setup.logger),
            JoinRequests(
                configuration: configuration, changes: changes, pairing: pairing, dialer: dialer, ways: ways,
                places: setup.places, ownIntroduction: ownIntroduction, time: time),
            DropRequests(environment: dropEnvironment, listeners: listeners),
        ]
    }

    /// Serves the links of devices that use an invitation.
    var invitationHost: InvitationHost {
        InvitationHost(
            invitations: invitations, configuration: configuration, devices: devices, index: index,
            changes: changes, ownIntroduction: ownIntroduction, time: setup.time, logger: setup.logger)
    }

    private var finder: FolderFinder {
        FolderFinder(folders: folders) { [mounts] in
            mounts.connected.map(\.greeting).map { .init(id: FolderID($0.folder), path: $0.origin.directory) }
        }
    }

    private var entries: EntrySource {
        EntrySource(finder: finder, index: index, fetching: fetching, transfers: transfers)
    }

    private var files: FileReading { FileReading(entries: entries, cache: cache, transfers: transfers) }

    private var pairedDevices: PairedDevices { PairedDevices(changes: changes, index: index) }

    private var ownIntroduction: @Sendable () -> PairingIntroduction {
        { [configuration, listeners] in
            PairingIntroduction(
                name: configuration.current.name, addresses: listeners.addresses.map(\.description))
        }
    }

    private var pairingEnvironment: PairingEnvironment {
        let discovery = configuration.atStart.discovery
        return PairingEnvironment(
            localDevice: configuration.localDevice, introduction: ownIntroduction,
            knownName: { [configuration] id in configuration.current.devices.first { $0.id == id }.map { $0.name } },
            dial: { [dialer, pairing] in try await dialer.dial($0, install: try pairing.dialling()) },
            scope: SearchScope(
                network: self.discovery != nil, servers: discovery.global && !discovery.servers.isEmpty),
            find: { [ways] in await ways.find($0) },
            connect: { [ways, pairing, clock = setup.time.clock] in
                try await ways.connect(to: $0, at: $1, clock: clock, install: try pairing.dialling()).0
            },
            store: { [pairedDevices] in try await pairedDevices.store($0) },
            paired: { [devices] in await devices.device($0)?.seek() },
            nearby: [self.discovery].compactMap { $0 } + setup.nearby, nonce: { .random() }, events: events,
            time: setup.time, logger: setup.logger)
    }

    private var dropEnvironment: DropEnvironment {
        DropEnvironment(
            registry: drops, devices: devices, known: { [configuration] in configuration.current.devices },
            folderFile: { [entries] in try await entries.fileToSend($0) },
            transports: setup.transports.compactMap { $0 as? any LegacyTransport }, nearby: setup.nearby,
            start: { [tasks] in tasks.start($0) }, threads: fetching.threads, space: fetching.space,
            time: setup.time, logger: setup.logger)
    }

    /// What mounts of folders ask, on a socket of its own.
    package var mountServer: MountServer {
        let (finder, entries, cache, transfers) = (finder, entries, cache, transfers)
        let (mounts, configuration, mountsChanged) = (mounts, configuration, mountKeeper.changed)
        let machine = setup.machine
        let desktop =
            configuration.atStart.thumbnails.isEnabled
            ? setup.places.desktopThumbnails.map {
                DesktopThumbnails(thumbnails, directory: $0, threads: entries.fetching.threads)
            } : nil
        return MountServer(
            path: setup.places.mountSocket, logger: setup.logger,
            followSleep: { sleep in
                guard let machine else { return }
                for await change in machine.sleep {
                    switch change {
                    case .begins(let hold):
                        await sleep.begin()
                        // Until here the machine is held awake.
                        withExtendedLifetime(hold) {}
                    case .over: sleep.end()
                    }
                }
            }
        ) { greeting throws(MountFailure) in
            guard let folder = finder.folders.folder(FolderID(greeting.folder)) else {
                mounts.refused(greeting)
                mountsChanged.notify()
                throw .noSuchFolder
            }
            let (number, mount) = mounts.enter(greeting)
            mountsChanged.notify()
            return MountFolderSession(
                folder: folder, entries: entries, cache: cache, transfers: transfers,
                terms: MountTerms(
                    readers: mount.readers, settings: { MountSettings(configuration.current.mounting) },
                    changed: mount.changed,
                    thumbnails: MountThumbnails.Terms(
                        desktop: desktop, directory: greeting.origin.directory,
                        fetchLimit: { configuration.current.mounting.thumbnailLimit }),
                    unmounted: { mounts.unmounted(number) },
                    ended: {
                        mounts.leave(number)
                        mountsChanged.notify()
                    }))
        }
    }

    private var linkRequests: LinkRequests {
        LinkRequests(web: setup.web, entries: entries, places: setup.places, tasks: tasks, time: setup.time)
    }

    /// Makes a file for this user alone that logs a browser in and has it show a view of the page. It goes when the link in it was used
    /// or expires.
    ///
    /// - Returns: its path, absolute.
    /// - Throws: `ControlError` where there is no page; what writing the file throws.
    package func loginPage(showing view: String) throws -> String? {
        try linkRequests.logIn(at: "#/\(view)", hasPage: true).page
    }

    /// Tells everyone who listens of a job.
    package func announce(_ job: Job) { events.post("job", job: job) }

    /// Applies what commands wrote into the configuration while the agent started; to be called once it takes requests.
    package func catchUpWithConfiguration() async {
        do {
            try await changes.catchUp()
        } catch {
            setup.logger.warning("config.toml was changed while the agent started, and that is not applied: \(error)")
        }
    }

    /// Returns when so many bytes of files that links lead to may go, or when the task is cancelled.
    package func paceLinks(_ byteCount: Int) async { await rates.files.wait(for: byteCount) }
}
