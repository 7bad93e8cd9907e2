import ControlAPI

/// An upload of three bytes.
extension ScriptedControl {
    static let upload = Upload(
        id: String(repeating: "a", count: 64), folder: "docs", path: "new.txt", wanted: "new.txt", size: 3,
        modified: 1_795_289_512_000, offset: 0, expires: Sample.time, added: ["!/new.txt"])

    func addUploads(to table: inout EndpointHandlers) {
        table.on(Endpoints.uploads) { query in
            try self.note("uploads \(query.folder ?? "all") \(query.session ?? "nobody")")
            return UploadList(uploads: [Self.upload], refusal: query.folder.map { "\($0) is paused" }, free: 9)
        }
        table.on(Endpoints.beginUpload) { request in
            try self.note("upload \(request.path.text) \(request.size) \(request.session ?? "nobody")")
            return UploadAnswer(Self.upload)
        }
        table.on(Endpoints.addToUpload) { part in
            try self.note("part \(part.offset) \(part.bytes) \(part.session ?? "nobody")")
            return UploadAnswer(Self.upload)
        }
        table.on(Endpoints.endUpload) { end in
            try self.note("uploaded \(end.digest) \(end.session ?? "nobody")")
            return UploadedFile(folder: "docs", path: "new.txt", size: 3, added: [])
        }
        table.on(Endpoints.cancelUpload) { cancel in
            try self.note("cancel upload \(cancel.upload.prefix(4)) \(cancel.session ?? "nobody")")
        }
    }
}
