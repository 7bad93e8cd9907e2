import COpenSSL

/// One `-----BEGIN …-----` block of a PEM file (RFC 7468).
struct PEMBlock {
    /// What follows BEGIN, such as `CERTIFICATE`.
    let label: String
    /// The lines before the first empty one (RFC 1421), empty in unencrypted files.
    let header: String
    /// What the base64 says.
    let contents: [UInt8]

    /// More than any certificate or key file has; a longer one is refused unread.
    static let byteCountLimit = 256 << 10

    /// The blocks of `text` in order, up to the first one that is damaged; text between blocks is skipped.
    static func all(in text: String) throws(CryptographyError) -> [PEMBlock] {
        guard text.utf8.count <= byteCountLimit else { return [] }
        guard let source = OwnedBuffer(), source.append(text) else { throw .libraryFailed("allocate a buffer") }
        var blocks: [PEMBlock] = []
        while let block = next(from: source) { blocks.append(block) }
        // The end of the text is an error to libcrypto.
        _ = CryptographyError.drainErrors()
        return blocks
    }

    private static func next(from source: borrowing OwnedBuffer) -> PEMBlock? {
        var label: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var contents: UnsafeMutablePointer<UInt8>?
        var count = 0
        defer {
            CRYPTO_free(label, #fileID, #line)
            CRYPTO_free(header, #fileID, #line)
            CRYPTO_clear_free(contents, count, #fileID, #line)
        }
        guard PEM_read_bio(source.pointer, &label, &header, &contents, &count) == 1, let label, let header, let contents
        else { return nil }
        return PEMBlock(
            label: String(cString: label), header: String(cString: header),
            contents: Array(UnsafeBufferPointer(start: contents, count: count)))
    }

    /// The block as text with lines of 64 characters.
    func text() throws(CryptographyError) -> String {
        guard let sink = OwnedBuffer() else { throw .libraryFailed("allocate a buffer") }
        let written = contents.withUnsafeBufferPointer { bytes in
            PEM_write_bio(sink.pointer, label, "", bytes.baseAddress, bytes.count)
        }
        guard written > 0 else { throw .libraryFailed("write a PEM block") }
        return String(decoding: sink.drain(), as: UTF8.self)
    }
}
