import ControlAPI
import Cryptography
import FolderSync

/// Files that are uploaded to folders.
struct UploadRequests: RequestGroup {
    let finder: FolderFinder
    let uploads: UploadRegistry

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.uploads) { try await list($0) }
        table.on(Endpoints.beginUpload) { try await begin($0) }
        table.on(Endpoints.addToUpload) { UploadAnswer(try await uploads.add($0)) }
        table.on(Endpoints.endUpload) { try await end($0) }
        table.on(Endpoints.cancelUpload) { try await uploads.cancel($0) }
    }

    private func list(_ query: UploadQuery) async throws -> UploadList {
        var list = UploadList(uploads: uploads.list(query.folder, of: query.session))
        guard let id = query.folder else { return list }
        let folder = try finder.folder(id)
        do throws(ControlError) {
            try UploadAccess.check(folder)
        } catch {
            list.refusal = error.message
        }
        list.free = try? await UploadStaging(folder: try folder.runner.reading(), key: "").freeBytes()
        return list
    }

    private func begin(_ request: UploadRequest) async throws -> UploadAnswer {
        let (folder, path) = try finder.resolve(request.path)
        return UploadAnswer(
            try await folder.namingErrors { try await uploads.begin(request, in: folder, at: path) })
    }

    private func end(_ request: UploadEnd) async throws -> UploadedFile {
        guard let digest = SHA256Digest(hex: request.digest) else {
            throw ControlError(.invalidRequest, "digest must have 64 hexadecimal digits")
        }
        return try await uploads.end(request, digest)
    }
}
