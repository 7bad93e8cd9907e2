import ControlAPI
import Cryptography
import WebPage

/// A file of the page, which is built into the program. Nothing in it is secret.
struct PageFile: Sendable {
    let name: String
    let bytes: [UInt8]
    /// By the content, so that a browser need not be sent again what it has.
    let entityTag: String

    private init(_ file: web_page_file) {
        name = String(cString: file.name)
        bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
        entityTag = "\"\(SHA256.digest(bytes).description.prefix(32))\""
    }

    var contentType: String {
        let ending = name.split(separator: ".").last ?? ""
        return Self.types[String(ending)] ?? "application/octet-stream"
    }

    /// Nothing but what comes from this address, and nothing that is written into the page itself.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self'; "
        + "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    static let index = "index.html"

    /// The control API in OpenAPI.
    static let description = PageFile(web_page_description())

    static func named(_ name: some StringProtocol) -> PageFile? { all[String(name)] }

    static var names: Set<String> { Set(all.keys) }

    private static let all: [String: PageFile] = {
        var all: [String: PageFile] = [:]
        for index in 0..<web_page_file_count() {
            let file = PageFile(web_page_file_at(index))
            all[file.name] = file
        }
        return all
    }()

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "json": "application/json", "png": "image/png", "ico": "image/x-icon",
        "webmanifest": "application/manifest+json",
    ]
}
