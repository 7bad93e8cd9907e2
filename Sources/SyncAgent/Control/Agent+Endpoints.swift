public import ControlAPI

/// Which function answers each endpoint.
extension Agent {
    public var handlers: EndpointHandlers {
        var table = EndpointHandlers(
            bytes: EndpointHandlers.Bytes(
                read: { try await self.read($0, range: $1, start: $2, emit: $3) },
                readMember: { try await self.readMember($0, range: $1, start: $2, emit: $3) },
                memberFacts: { try await self.memberFacts($0) }),
            events: { try await self.events(after: $0, begin: $1, emit: $2) })
        addAgent(to: &table)
        addDevices(to: &table)
        addFolders(to: &table)
        addSelection(to: &table)
        addEntries(to: &table)
        return table
    }

    private func addAgent(to table: inout EndpointHandlers) {
        table.on(Endpoints.status) { try await self.status() }
        table.on(Endpoints.pending) {
            PendingList(devices: try await self.pendingDevices(), folders: try await self.pendingFolders())
        }
        table.on(Endpoints.syncNow) { try await self.syncNow($0) }
        table.on(Endpoints.reload) { try await self.reload($0) }
        table.on(Endpoints.setPaused) { try await self.setPaused($0) }
        table.on(Endpoints.setPolicies) { try await self.setPolicies($0) }
        table.on(Endpoints.transfers) { try await self.transferList() }
        table.on(Endpoints.wait) { try await self.wait($0) }
        table.on(Endpoints.completion) { try await self.completion(folder: $0.folder, device: $0.device) }
        table.on(Endpoints.changes) { try await self.changes($0, emit: $1) }
        table.on(Endpoints.resetIndex) { try await self.resetIndex(folder: $0.folder) }
        table.on(Endpoints.stop) { _ in try await self.stop() }
        table.on(Endpoints.logIn) { try await self.logIn($0) }
        table.on(Endpoints.logOut) { try await self.logOut() }
    }

    private func addDevices(to table: inout EndpointHandlers) {
        table.on(Endpoints.addDevice) { try await self.addDevice($0) }
        table.on(Endpoints.renameDevice) { try await self.renameDevice($0.device, to: $0.name) }
        table.on(Endpoints.removeDevice) { try await self.removeDevice($0) }
        table.on(Endpoints.setDeviceBluetooth) { try await self.setDeviceBluetooth($0) }
        table.on(Endpoints.nearby) { NearbyList(devices: try await self.nearbyDevices()) }
        table.on(Endpoints.pair) { try await self.pair($0, emit: $1) }
        table.on(Endpoints.pairStatus) { try await self.pairStatus() }
        table.on(Endpoints.answerPairing) { try await self.answerPairing($0) }
        table.on(Endpoints.dropSend) { try await self.dropSend($0, emit: $1) }
        table.on(Endpoints.dropReceive) { try await self.dropReceive($0, emit: $1) }
        table.on(Endpoints.answerDrop) { try await self.answerDrop($0) }
        table.on(Endpoints.invite) { try await self.invite($0) }
        table.on(Endpoints.invitations) { try await self.invitationList() }
        table.on(Endpoints.revokeInvitation) { try await self.revokeInvitation($0) }
        table.on(Endpoints.join) { try await self.join($0) }
    }

    private func addFolders(to table: inout EndpointHandlers) {
        table.on(Endpoints.addFolder) { try await self.addFolder($0) }
        table.on(Endpoints.setFolderPaused) { try await self.setFolderPaused($0.folder, $0.isPaused) }
        table.on(Endpoints.removeFolder) { try await self.removeFolder($0) }
        table.on(Endpoints.setFolderMode) { try await self.setFolderMode($0) }
        table.on(Endpoints.setFolderBluetooth) { try await self.setFolderBluetooth($0) }
        table.on(Endpoints.setFolderRole) { try await self.setFolderRole($0) }
        table.on(Endpoints.perform) { try await self.perform($0) }
        table.on(Endpoints.scan) { try await self.scan($0) }
        table.on(Endpoints.refused) { try await self.refused(folder: $0, emit: $1) }
        table.on(Endpoints.settleRefused) { try await self.settleRefused($0) }
    }

    private func addSelection(to table: inout EndpointHandlers) {
        table.on(Endpoints.select) { try await self.select($0) }
        table.on(Endpoints.selection) { try await self.selection(folder: $0, emit: $1) }
        table.on(Endpoints.explain) { try await self.explain($0) }
        table.on(Endpoints.extraneous) { try await self.extraneous(folder: $0, emit: $1) }
        table.on(Endpoints.resolve) { try await self.resolve($0) }
        table.on(Endpoints.remove) { try await self.remove($0) }
        table.on(Endpoints.free) { try await self.free($0) }
        table.on(Endpoints.remoteNeeds) { try await self.needs(ofDevice: $0.device, folder: $0.folder, emit: $1) }
        table.on(Endpoints.needs) { try await self.needs(folder: $0, emit: $1) }
        table.on(Endpoints.fetch) { try await self.fetch($0, emit: $1) }
        table.on(Endpoints.versions) { try await self.versions($0, emit: $1) }
        table.on(Endpoints.restoreVersion) { try await self.restoreVersion($0) }
        table.on(Endpoints.conflicts) { try await self.conflicts(folder: $0, emit: $1) }
        table.on(Endpoints.conflictDetails) { try await self.conflictDetails($0) }
        table.on(Endpoints.resolveConflicts) { try await self.resolveConflicts($0) }
    }

    private func addEntries(to table: inout EndpointHandlers) {
        table.on(Endpoints.stat) { try await self.stat($0) }
        table.on(Endpoints.entryPage) { try await self.entries($0) }
        table.on(Endpoints.list) { try await self.list($0.path, isRecursive: $0.isRecursive, emit: $1) }
        table.on(Endpoints.searchPage) { try await self.search($0) }
        table.on(Endpoints.search) { try await self.search($0.text, folder: $0.folder, limit: $0.limit, emit: $1) }
        table.on(Endpoints.whereis) { try await self.whereis($0) }
        table.on(Endpoints.notes) { try await self.notes($0) }
        table.on(Endpoints.changeNotes) { try await self.changeNotes($0) }
        table.on(Endpoints.archive) { try await self.archive($0) }
        table.on(Endpoints.thumbnail) { try await self.thumbnail($0) }
        table.on(Endpoints.link) { try await self.link($0) }
    }
}
