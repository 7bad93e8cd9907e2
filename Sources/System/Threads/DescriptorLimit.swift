import Glibc

/// How many descriptors the process may have open.
package enum DescriptorLimit {
    private static let wanted: rlim_t = 65_536

    /// Raises the soft limit, which is usually 1,024 for programs that use select(2), as far as the system allows. Programs that are
    /// started later inherit it.
    package static func raise() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        let raised = min(limit.rlim_max, wanted)
        guard limit.rlim_cur < raised else { return }
        limit.rlim_cur = raised
        setrlimit(resource, &limit)
    }
}
