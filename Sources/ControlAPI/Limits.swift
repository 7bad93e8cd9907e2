/// What both ends of the control API hold each other to.
public enum ControlLimits {
    /// Bytes of a request's body.
    public static let requestBody = 1 << 20
    /// Bytes of a request's line and headers.
    public static let requestHead = 64 << 10
    /// Bytes of one line of NDJSON.
    public static let line = 16 << 20
    /// Bytes of an answer that is one document.
    public static let document = 64 << 20
}
