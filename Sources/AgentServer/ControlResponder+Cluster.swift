import ControlAPI

extension ClusterOperation {
    /// Whether the answer is a line for each thing found.
    var isStream: Bool {
        switch self {
        case .remoteNeeds, .changes: true
        case .setPaused, .completion, .wait, .reload, .setPolicies, .transfers: false
        }
    }
}

extension ControlResponder {
    func document(for operation: ClusterOperation) async throws -> [UInt8] {
        switch operation {
        case .setPaused(let change): try await control.setPaused(change)
        case .wait(let request): try await control.wait(request)
        case .setPolicies(let change): try await control.setPolicies(change)
        case .reload(let request): return try ControlJSON.encode(try await control.reload(request))
        case .completion(let folder, let device):
            return try ControlJSON.encode(try await control.completion(folder: folder, device: device))
        case .transfers: return try ControlJSON.encode(try await control.transferList())
        case .remoteNeeds, .changes: break
        }
        return [UInt8](#"{"schema":1}"#.utf8)
    }

    func stream(_ operation: ClusterOperation, to lines: LineStream) async throws {
        switch operation {
        case .remoteNeeds(let device, let folder):
            try await control.needs(ofDevice: device, folder: folder) { try await lines.add($0) }
        case .changes(let query):
            if query.isFollowing { try await lines.begin() }
            try await control.changes(query) { change in
                let line = try ControlJSON.encode(change)
                if query.isFollowing { try await lines.send(line, name: "change") } else { try await lines.add(line) }
            }
        case .setPaused, .completion, .wait, .reload, .setPolicies, .transfers: break
        }
    }
}
