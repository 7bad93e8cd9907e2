/// What is to be done if a name is taken: by a file on this disk, or by one that other devices have.
package enum UploadClash: String, Codable, CaseIterable, Sendable {
    case refuse
    /// The file gets a free name, `STEM (2).EXTENSION` or with a higher number.
    case rename
}

/// Begins an upload, or finds the one that the same session began of the same file: of the same path, size and time.
package struct UploadRequest: Codable, Equatable, Sendable, PathRequest {
    /// Where the file is to be.
    package var path: PathReference
    /// Bytes.
    package var size: Int64
    /// When the file was modified, in milliseconds since 1970; nil if that is not known.
    package var modified: Int64?
    package var existing: UploadClash
    /// Who asks: the browser's session, nil for who opened the socket. Not a part of the body.
    package var session: String?

    package init(
        path: PathReference, size: Int64, modified: Int64? = nil, existing: UploadClash = .refuse,
        session: String? = nil
    ) {
        (self.path, self.size, self.modified, self.existing, self.session) = (path, size, modified, existing, session)
    }

    enum CodingKeys: String, CodingKey { case path, size, modified, existing }

    func check() throws(ControlError) {
        try PathReference.check([path])
        guard size >= 0 else { throw ControlError(.invalidRequest, "size must be 0 or more, not \(size)") }
        let bound = UploadLimits.latest
        guard (-bound...bound).contains(modified ?? 0) else {
            throw ControlError(.invalidRequest, "modified must be in milliseconds since 1970")
        }
    }
}

package enum UploadLimits {
    /// Bytes of a block, each of which has a hash in the digest of a file.
    package static let block = 1 << 20
    /// Bytes of one part.
    package static let part = ControlLimits.requestBody
    /// Uploads that are not finished, of all sessions.
    package static let count = 64
    /// Seconds without a part after which an upload is over.
    package static let lifetime: Int64 = 86_400
    /// Milliseconds since 1970, far beyond all files.
    static let latest: Int64 = 1 << 52
}

/// A file that is being uploaded.
package struct Upload: Codable, Equatable, Sendable {
    package var id: String
    package var folder: String
    /// Relative to the folder's root: where it will be.
    package var path: String
    /// The same as it was asked for; another if that was taken.
    package var wanted: String
    package var size: Int64
    package var modified: Int64?
    /// Bytes that have arrived: the next part begins there.
    package var offset: Int64
    /// RFC 3339: when it is removed if nothing more arrives.
    package var expires: String
    /// Lines of `.stignore` that will be added so that the file is kept here; empty if it is selected already.
    package var added: [String]

    package init(
        id: String, folder: String, path: String, wanted: String, size: Int64, modified: Int64?, offset: Int64,
        expires: String, added: [String] = []
    ) {
        (self.id, self.folder, self.path, self.wanted, self.size) = (id, folder, path, wanted, size)
        (self.modified, self.offset, self.expires, self.added) = (modified, offset, expires, added)
    }
}

package struct UploadAnswer: Codable, Equatable, Sendable {
    package var schema = 1
    package var upload: Upload

    package init(_ upload: Upload) { self.upload = upload }
}

/// Asks for the uploads of a session that are not finished.
package struct UploadQuery: Equatable, Sendable {
    /// Nil for all folders.
    package var folder: String?
    package var session: String?

    package init(folder: String? = nil, session: String? = nil) { (self.folder, self.session) = (folder, session) }
}

package struct UploadList: Codable, Equatable, Sendable {
    package var schema = 1
    package var uploads: [Upload]
    /// Why nothing can be uploaded to the folder that was asked for; nil if it can, and for all folders.
    package var refusal: String?
    /// Bytes that the files may have in all, of the folder that was asked for; nil if the disk does not say.
    package var free: Int64?

    package init(uploads: [Upload], refusal: String? = nil, free: Int64? = nil) {
        (self.uploads, self.refusal, self.free) = (uploads, refusal, free)
    }
}

/// The next bytes of an upload.
package struct UploadPart: Equatable, Sendable, CheckedRequest {
    package var upload: String
    package var offset: Int64
    package var bytes: [UInt8]
    package var session: String?

    package init(upload: String, offset: Int64, bytes: [UInt8], session: String? = nil) {
        (self.upload, self.offset, self.bytes, self.session) = (upload, offset, bytes, session)
    }

    func check() throws(ControlError) {
        guard (1...UploadLimits.part).contains(bytes.count) else {
            throw ControlError(
                bytes.isEmpty ? .invalidRequest : .tooLarge, "A part has 1 to \(UploadLimits.part) bytes.")
        }
    }
}

/// Ends an upload all of whose bytes have arrived.
package struct UploadEnd: Codable, Equatable, Sendable {
    package var upload: String
    /// The SHA-256, in 64 hexadecimal digits, of the SHA-256s (32 bytes each, one after the other) of the file's blocks of 1 MiB,
    /// the last of which may be shorter. An empty file has no block.
    package var digest: String
    /// Nil for what was said at the beginning.
    package var existing: UploadClash?
    package var session: String?

    package init(upload: String, digest: String, existing: UploadClash? = nil, session: String? = nil) {
        (self.upload, self.digest, self.existing, self.session) = (upload, digest, existing, session)
    }

    enum CodingKeys: String, CodingKey { case upload, digest, existing }
}

/// Cancels an upload.
package struct UploadCancel: Equatable, Sendable {
    package var upload: String
    package var session: String?

    package init(upload: String, session: String? = nil) { (self.upload, self.session) = (upload, session) }
}

/// A file that was uploaded and is in its place.
package struct UploadedFile: Codable, Equatable, Sendable {
    package var schema = 1
    package var folder: String
    /// Relative to the folder's root; another than was asked for if that was taken.
    package var path: String
    package var size: Int64
    /// Lines of `.stignore` that were added so that the file is kept here.
    package var added: [String]

    package init(folder: String, path: String, size: Int64, added: [String]) {
        (self.folder, self.path, self.size, self.added) = (folder, path, size, added)
    }
}
