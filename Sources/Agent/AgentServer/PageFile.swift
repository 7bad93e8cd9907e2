import CTranslations
import ControlAPI
import Cryptography
import WebPage

/// A file of the page, which is built into the program. Nothing in it is secret. The translations are among them, as
/// `translations/LANGUAGE.json`.
struct PageFile: Sendable {
    let name: String
    let bytes: [UInt8]
    /// By the content, so that a browser need not be sent again what it has.
    let entityTag: String

    private init(_ name: String, _ start: UnsafePointer<UInt8>?, _ count: Int) {
        self.name = name
        bytes = Array(UnsafeBufferPointer(start: start, count: count))
        entityTag = "\"\(SHA256.digest(bytes).description.prefix(32))\""
    }

    private init(_ file: web_page_file) { self.init(String(cString: file.name), file.bytes, file.count) }

    private init(_ document: translation_document) {
        self.init("translations/\(String(cString: document.language)).json", document.bytes, document.count)
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
        for index in 0..<translation_document_count() {
            let file = PageFile(translation_document_at(index))
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
