import Phrases

/// Why an archive, or a member of it, cannot be read.
package struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Neither a zip nor an ISO 9660 image.
        case notArchive
        /// It says things that cannot be, or its bytes are not those that it announces.
        case damaged
        /// A kind of archive or compression that is not read here.
        case unsupported
        case encrypted
        /// More than the limits let.
        case tooLarge
        case noSuchMember
        /// The member is a directory or a link.
        case notFile
        case rangeNotSatisfiable
    }

    package var code: Code
    /// A sentence for people that ends with what to do.
    package var message: Phrase

    package init(_ code: Code, _ message: Phrase) {
        self.code = code
        self.message = message
    }

    package var description: String { message.english }

    /// - Parameter what: in the lower case, without a full stop.
    static func damaged(_ what: Phrase) -> ArchiveError {
        ArchiveError(
            .damaged, "The archive is damaged: \(what). Fetch all of it and try a program that repairs archives.")
    }
}
