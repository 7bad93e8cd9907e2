import AgentConfiguration
import AgentContext
import ControlAPI
import Diagnosis
import Logging
import PeerLinks
import Transport

/// What an agent is made of that is not its own to choose.
package struct AgentSetup: Sendable {
    /// A radio that is listened on whatever the configuration says of addresses.
    package struct Radio: Sendable {
        package var address: LinkAddress
        package var status: @Sendable () -> RadioStatus

        package init(address: LinkAddress, status: @escaping @Sendable () -> RadioStatus) {
            self.address = address
            self.status = status
        }
    }

    /// Where links to files lead.
    package struct Web: Sendable {
        /// `http://host:port`; nil while nothing is listened on.
        package var address: @Sendable () -> String?
        /// Why it is at another port than the configuration says; nil if it is not.
        package var remark: @Sendable () -> Phrase?
        /// What is the matter, with what to do.
        package var problem: @Sendable () -> Phrase?
        /// A link to a path of a folder that is good until then, in seconds since 1970.
        package var link: @Sendable (_ folder: String, _ path: String, _ expires: Int64) throws -> String
        /// A link that logs a browser in; calls `used` when one has.
        package var logIn: @Sendable (_ used: @escaping @Sendable () -> Void) throws -> LoginLink
        /// Logs all browsers out; how many there were.
        package var logOut: @Sendable () async throws -> Int
        /// Sets the page's password and logs all browsers out; how many there were.
        package var setPassword: @Sendable (String) async throws -> Int
        /// The SHA-256 of the certificate that the page shows; nil where it has none.
        package var fingerprint: @Sendable () -> String?

        package init(
            address: @escaping @Sendable () -> String?, remark: @escaping @Sendable () -> Phrase?,
            problem: @escaping @Sendable () -> Phrase?,
            link: @escaping @Sendable (_ folder: String, _ path: String, _ expires: Int64) throws -> String,
            logIn: @escaping @Sendable (_ used: @escaping @Sendable () -> Void) throws -> LoginLink,
            logOut: @escaping @Sendable () async throws -> Int,
            setPassword: @escaping @Sendable (String) async throws -> Int,
            fingerprint: @escaping @Sendable () -> String?
        ) {
            self.address = address
            self.remark = remark
            self.problem = problem
            self.link = link
            self.logIn = logIn
            self.logOut = logOut
            self.setPassword = setPassword
            self.fingerprint = fingerprint
        }
    }

    package var places: AgentPlaces
    package var configurationFile: ConfigurationFile
    package var transports: [any LinkTransport]
    /// Makes what finds nearby devices; nil for none.
    package var makeDiscovery: DeviceDiscoveryMaker?
    /// Makes what reaches devices beyond the local network; nil for none.
    package var makeReach: WideReachMaker?
    /// What goes through a proxy; `transports` and `makeReach` see to it.
    package var proxyUse: ProxyUse
    /// Dials addresses of devices that want to know whether they are reached there: directly, and never from the port that is listened
    /// on, which a router may let through because this device dialled from it before. Nil where no device is tested.
    package var testTransport: (any LinkTransport)?
    /// What else finds devices to pair with.
    package var nearby: [any NearbyDevices]
    /// Bluetooth; nil where it is not used.
    package var radio: Radio?
    /// Links to files; nil for none.
    package var web: Web?
    /// Looks at the machine and at this device's files, and waits for disks; nil for nobody.
    package var examine: (@Sendable () -> MachineFacts)?
    /// Who knows how the machine is connected and powered; nil for nobody.
    package var machine: (any MachineStateSource)?
    /// Where people are notified of what happens; nil for nowhere.
    package var notices: (any NoticeBoard)?
    /// Where the agent's state is shown as an icon; nil for nowhere.
    package var tray: (any TrayBoard)?
    /// What mounts folders; nil where they cannot be mounted by the agent.
    package var mounts: MountTools?
    package var time: AgentTime
    /// The program that watches directories; nil for scans only.
    package var watchProgram: String?
    package var logger: Logger
    /// Ends the program in an orderly way; called by the control verb `stop`.
    package var requestStop: @Sendable () -> Void

    package init(
        places: AgentPlaces, configurationFile: ConfigurationFile, transports: [any LinkTransport],
        makeDiscovery: DeviceDiscoveryMaker?, makeReach: WideReachMaker? = nil, proxyUse: ProxyUse = .none,
        testTransport: (any LinkTransport)? = nil, nearby: [any NearbyDevices] = [],
        radio: Radio? = nil,
        web: Web? = nil, examine: (@Sendable () -> MachineFacts)? = nil, machine: (any MachineStateSource)? = nil,
        notices: (any NoticeBoard)? = nil, tray: (any TrayBoard)? = nil, mounts: MountTools? = nil,
        time: AgentTime = .system,
        watchProgram: String? = nil, logger: Logger,
        requestStop: @escaping @Sendable () -> Void
    ) {
        self.places = places
        self.configurationFile = configurationFile
        self.transports = transports
        self.makeDiscovery = makeDiscovery
        self.makeReach = makeReach
        self.proxyUse = proxyUse
        self.testTransport = testTransport
        self.nearby = nearby
        self.radio = radio
        self.web = web
        self.examine = examine
        self.machine = machine
        self.notices = notices
        self.tray = tray
        self.mounts = mounts
        self.time = time
        self.watchProgram = watchProgram
        self.logger = logger
        self.requestStop = requestStop
    }
}
