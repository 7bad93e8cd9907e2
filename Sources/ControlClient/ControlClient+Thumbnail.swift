public import ControlAPI

extension ControlClient {
    public func thumbnail(_ path: PathReference) async throws -> [UInt8] {
        try await exchange(.thumbnail(path)) { _, body in try await body.collect(upTo: ControlLimits.document) }
    }
}
