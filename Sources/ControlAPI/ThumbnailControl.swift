/// Small pictures of what is in the global index.
public protocol ThumbnailControl: Sendable {
    /// A JPEG of a picture or film, here or not, whose sides have at most 255 pixels. Throws `noSuchPath`; `noThumbnail` if
    /// there is none to be had; `thumbnailsOff` with what to install; `busy` if too many newer ones are waited for; and what
    /// fetching throws. Cancelling ends what nobody else waits for.
    func thumbnail(_ path: PathReference) async throws -> [UInt8]
}
