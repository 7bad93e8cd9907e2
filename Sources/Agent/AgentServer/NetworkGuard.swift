import ControlAPI

/// What a request is let in for.
enum Admission: Equatable, Sendable {
    /// It came over the socket: everything.
    case user
    /// A file of the page.
    case page(name: String)
    /// The link that logs in.
    case login
    /// The password, from a page of ours.
    case password
    /// Over a connection without TLS, where there should be: the page at its `https` address.
    case redirect(to: String)
    /// A signed link to a file.
    case link
    /// The API, by a cookie.
    case session(SessionTable.ID)

    /// Bytes that the request may bring behind its head.
    var bodyLimit: Int {
        switch self {
        case .user, .session: ControlLimits.requestBody
        // The longest password, each byte as an escape of JSON.
        case .password: 6 * PasswordChange.longest + 64
        case .page, .login, .redirect, .link: 0
        }
    }
}

/// Says of a request over TCP what it is let in for, by its head alone. Anybody can connect: programs of other users, and
/// pages of others in the user's own browser, those of other ports of this machine with the user's cookie. Pure.
struct NetworkGuard: Sendable {
    static let pageHeader = "x-synctrain"
    private static let pageValue = "page"

    let hosts: RequestGuard
    let cookie: SessionCookie
    /// Whether browsers log in with a password, over TLS.
    var takesPassword = false

    /// What a request is let in for that came without TLS to a port that needs it: a redirect to the page's `https` address.
    /// Nothing that the request brought is used or repeated, since a login link that was sent in the open has lost its secrecy.
    func plainAdmission(of request: ControlRequest) throws(ControlError) -> Admission {
        guard hosts.objection(hosts: request.hosts, origins: []) == nil, let host = request.hosts.first else {
            throw ControlError(.invalidRequest, "This port takes HTTPS only. Open the page at its https:// address.")
        }
        guard request.path == "/", request.method == "GET" || request.method == "HEAD" else {
            throw ControlError(.invalidRequest, "This port takes HTTPS only. Use https://\(host.lowercased())/.")
        }
        return .redirect(to: "https://\(host.lowercased())/")
    }

    /// - Parameter session: the session that a cookie's value is the secret of; nil if it is none.
    func admission(
        of request: ControlRequest, session: (Substring) -> SessionTable.ID?
    ) throws(ControlError) -> Admission {
        if let objection = hosts.objection(hosts: request.hosts, origins: request.origins) {
            throw ControlError(.noPermission, objection)
        }
        let path = request.path
        if path == LinkTarget.path { return .link }
        if path == "/login" {
            guard takesPassword, request.method == "POST" else { return .login }
            try checkSite(request)
            try checkChange(request)
            return .password
        }
        if path == "/" { return .page(name: PageFile.index) }
        if path.hasPrefix("/page/") { return .page(name: String(path.dropFirst("/page/".count))) }
        guard path.hasPrefix("/v1/") else {
            throw ControlError(.notFound, "No such resource: \(path.prefix(80)); see docs/control-api.md.")
        }
        // A cookie goes with whatever a page of another port of this machine asks, too: the browser says who asks.
        try checkSite(request)
        guard let session = cookie.values(in: request.cookies).lazy.compactMap(session).first else {
            throw ControlError.notLoggedIn(takesPassword: takesPassword)
        }
        if request.method != "GET", request.method != "HEAD" {
            try checkChange(request)
            guard path != Endpoints.setPassword.id.path else {
                throw ControlError(
                    .noPermission,
                    "The password can only be set on this device. Run `synctrain ui --set-password` there.")
            }
            guard path != "/v1/sessions" || request.method != "POST" else {
                throw ControlError(
                    .noPermission, "Login links can only be created on this device. Run `synctrain ui` there.")
            }
        }
        return .session(session)
    }

    private func checkSite(_ request: ControlRequest) throws(ControlError) {
        guard request.fetchSites.allSatisfy({ $0 == "same-origin" || $0 == "none" }) else {
            throw ControlError(.noPermission, "Requests from other sites are refused.")
        }
    }

    private func checkChange(_ request: ControlRequest) throws(ControlError) {
        guard !request.origins.isEmpty, request.pageFields == [Self.pageValue] else {
            throw ControlError(
                .noPermission,
                "Changes need the Origin of the page and the header X-Synctrain: page.")
        }
    }
}

extension ControlError {
    /// - Parameter takesPassword: whether browsers log in with a password.
    static func notLoggedIn(takesPassword: Bool) -> ControlError {
        ControlError(
            .notLoggedIn,
            takesPassword
                ? "This browser is not logged in. Enter the password on the page."
                : "This browser is not logged in. Run `synctrain ui` to open the page.")
    }
}
