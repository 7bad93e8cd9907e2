import ControlAPI
import FileAccess

/// Where the uploads are kept that are not finished, for its user alone.
struct UploadFile: Sendable {
    let path: String

    private struct Document: Codable {
        var schema = 1
        var uploads: [UploadTable.Record]
    }

    /// Blocks its thread. Empty if the file cannot be read: uploads then begin again.
    func read() -> [UploadTable.Record] {
        guard let bytes = try? AtomicFile.read(path: path),
            let document = try? ControlJSON.decode(Document.self, from: bytes), document.schema == 1
        else { return [] }
        return document.uploads
    }

    /// Blocks its thread; durable on return.
    ///
    /// - Throws: `FileAccessError`.
    func write(_ records: [UploadTable.Record]) throws {
        try AtomicFile.write(
            path: path, contents: try ControlJSON.encode(Document(uploads: records)), permissions: 0o600)
    }
}
