import BlockExchange
import Glibc
import Names
import Phrases

/// Where an agent keeps its files: all paths absolute.
package struct AgentPlaces: Equatable, Sendable {
    package let configurationFile: String
    package let certificate: String
    package let privateKey: String
    package let index: String
    /// What links to files are signed with.
    package let linkKey: String
    /// Who is logged in to the page.
    package let sessions: String
    /// Which files are being uploaded from the page.
    package let uploads: String
    /// What the page's password is checked with.
    package let password: String
    /// The page's own certificate and its key.
    package let pageCertificate: String
    /// The directory of identity, index and log.
    package let stateDirectory: String
    package let lock: String
    package let log: String
    /// A directory.
    package let blockCache: String
    /// A directory: thumbnails, where the configuration names no other.
    package let thumbnails: String
    /// A directory: files that thumbnails are being made of; what is in it is nobody's when the agent starts.
    package let thumbnailWork: String
    /// Where the user's file managers keep thumbnails, whatever the agent's home is; nil if nobody knows.
    package let desktopThumbnails: String?
    package let controlSocket: String
    /// What mounts connect to, beside it.
    package let mountSocket: String
    /// The directory of the control socket, for this user alone: `$XDG_RUNTIME_DIR/synctrain`, or with the rest.
    package let runtimeDirectory: String
    /// The one directory of `--home`; nil with the XDG places.
    package let home: String?
    /// What `~` stands for in the configuration and in paths of requests; nil if nobody knows.
    package let userHome: String?

    /// Of the control socket's path, in bytes: SwiftNIO binds 103, and until the socket has its mode its name is four bytes longer.
    static let socketPathLimit = 99

    /// Works out the places: all below `home`, else below `SYNCTRAIN_HOME`, else where the XDG base directories are.
    ///
    /// `home` and `SYNCTRAIN_HOME` may be relative to the current directory. Empty variables, and relative ones of XDG,
    /// count as unset. Without `XDG_RUNTIME_DIR` the control socket lies with the state. Throws `noPlace`.
    ///
    /// - Parameter accountHome: the user's home directory where `HOME` is unset; see `accountHome()`.
    package static func resolve(
        home: String?, environment: [String: String], accountHome: String? = nil
    ) throws(ConfigurationError) -> AgentPlaces {
        let userHome = [environment["HOME"], accountHome].lazy.compactMap { $0 }.first { $0.hasPrefix("/") }
            .map { withoutTrailingSlash($0) }
        let ownCache = userHome.map { ($0 == "/" ? "" : $0) + "/.cache" }
        let userCache =
            environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? withoutTrailingSlash($0) : nil } ?? ownCache
        if let home {
            guard !home.isEmpty else {
                throw ConfigurationError(.noPlace, "--home is empty; give it a directory")
            }
            return try below(home, userHome: userHome, userCache: userCache)
        }
        if let home = environment["SYNCTRAIN_HOME"], !home.isEmpty {
            return try below(home, userHome: userHome, userCache: userCache)
        }

        func directory(_ variable: String, _ fallback: String) throws(ConfigurationError) -> String {
            if let value = environment[variable], value.hasPrefix("/") {
                return withoutTrailingSlash(value) + "/synctrain"
            }
            guard let userHome else {
                throw noHome(environment, variable)
            }
            return (userHome == "/" ? "" : userHome) + "/" + fallback + "/synctrain"
        }
        let state = try directory("XDG_STATE_HOME", ".local/state")
        let runtime = environment["XDG_RUNTIME_DIR"].flatMap {
            $0.hasPrefix("/") ? withoutTrailingSlash($0) + "/synctrain" : nil
        }
        return try AgentPlaces(
            configuration: directory("XDG_CONFIG_HOME", ".config"), state: state,
            cache: directory("XDG_CACHE_HOME", ".cache"), runtime: runtime ?? state, home: nil, userHome: userHome,
            userCache: userCache)
    }

    /// Why there is no directory for the files: what is wrong with the variables that would name it.
    private static func noHome(_ environment: [String: String], _ variable: String) -> ConfigurationError {
        let (homes, directory) = (environment["HOME"] ?? "", environment[variable] ?? "")
        let cause =
            if !homes.isEmpty {
                Phrase("HOME is `\(homes.prefix(80))`, which is not a full path")
            } else if !directory.isEmpty {
                Phrase("\(variable) is `\(directory.prefix(80))`, which is not a full path, and HOME is not set")
            } else {
                Phrase("neither HOME nor \(variable) is set")
            }
        return ConfigurationError(
            .noPlace,
            "\(cause), so there is no directory for synctrain's files; set HOME to your home directory, or give a "
                + "directory with --home")
    }

    /// The home directory that the account database has for this process's user; nil if it has none.
    package static func accountHome() -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let directory = entry.pw_dir
        else { return nil }
        return String(cString: directory)
    }

    /// `path` with `~` and `~/` at its beginning replaced by the user's home directory; any other path as it is.
    /// Throws `invalidValue` if that directory is not known.
    package func expanded(_ path: String) throws(ConfigurationError) -> String {
        do throws(SettingProblem) {
            return try FolderPath.expanded(path, userHome: userHome)
        } catch {
            throw error.at(nil)
        }
    }

    private static func below(
        _ home: String, userHome: String?, userCache: String?
    ) throws(ConfigurationError) -> AgentPlaces {
        var path = home
        if home.utf8.first != UInt8(ascii: "/") {
            guard let current = getcwd(nil, 0) else {
                throw ConfigurationError(
                    .noPlace, "the current directory cannot be read; give --home an absolute path")
            }
            defer { free(current) }
            path = String(cString: current) + "/" + home
        }
        // `realpath` would not do: the directory may be made later.
        var parts: [Substring] = []
        for part in path.pathComponents where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        let directory = "/" + parts.joined(separator: "/")
        return try AgentPlaces(
            configuration: directory, state: directory, cache: directory, runtime: directory, home: directory,
            userHome: userHome, userCache: userCache)
    }

    private init(
        configuration: String, state: String, cache: String, runtime: String, home: String?, userHome: String?,
        userCache: String?
    ) throws(ConfigurationError) {
        configurationFile = configuration + "/config.toml"
        stateDirectory = state
        certificate = state + "/cert.pem"
        privateKey = state + "/key.pem"
        index = state + "/index.sqlite"
        linkKey = state + "/http.key"
        sessions = state + "/http.sessions"
        uploads = state + "/uploads.json"
        password = state + "/http.password"
        pageCertificate = state + "/http.pem"
        lock = state + "/lock"
        log = state + "/agent.log"
        blockCache = cache + "/blocks"
        thumbnails = cache + "/thumbnails"
        thumbnailWork = cache + "/thumbnails.work"
        desktopThumbnails = userCache.map { $0 + "/thumbnails" }
        controlSocket = runtime + "/agent.sock"
        mountSocket = runtime + "/mount.sock"
        runtimeDirectory = runtime
        self.home = home
        self.userHome = userHome
        let length = controlSocket.utf8.count
        guard length <= Self.socketPathLimit else {
            let advice =
                home == nil ? Phrase("set XDG_RUNTIME_DIR to a shorter path") : Phrase("choose a shorter --home")
            throw ConfigurationError(
                .noPlace,
                "the path of the control socket, \(controlSocket), has \(length) bytes, and at most "
                    + "\(Self.socketPathLimit) are allowed; \(advice)")
        }
    }

    /// Makes the directories that are missing, for the user alone (0700). One that exists keeps its mode, unless it is
    /// empty: then it too becomes 0700.
    package func createDirectories() throws(ConfigurationError) {
        for file in [configurationFile, certificate, blockCache + "/.", controlSocket] {
            try StoredFile.makeDirectories(StoredFile.directory(of: file), mode: 0o700)
        }
    }

    private static func withoutTrailingSlash(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }
}
