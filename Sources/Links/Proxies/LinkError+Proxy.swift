import Transport

extension LinkError {
    /// A proxy's error as those see it who dial and do not care how.
    init(_ error: ProxyError) {
        let code: Code =
            switch error.code {
            case .invalidTarget: .invalidAddress
            case .proxyNotFound: .hostNotFound
            case .noProxyListening, .targetRefused: .refused
            case .proxyUnreachable, .targetUnreachable: .unreachable
            case .timedOut: .timedOut
            case .passwordRequired, .wrongPassword, .refusedByProxy: .permissionDenied
            case .invalidSettings, .closedByProxy, .notAProxy, .failed: .failed
            }
        self.init(code, error.text, isTransient: error.isTransient, cause: error.cause)
    }
}

extension ProxyError {
    /// Why no connection to the proxy itself was made.
    init(connectingTo proxy: ProxyAddress, _ error: LinkError) {
        let cause = error.cause ?? error.message
        switch error.code {
        case .hostNotFound:
            self.init(
                .proxyNotFound, "the name of the proxy \(proxy) cannot be resolved; check its address", cause: cause)
        case .refused:
            self.init(.noProxyListening, "no proxy listens at \(proxy); start it, or change the setting", cause: cause)
        case .unreachable, .addressUnavailable:
            self.init(
                .proxyUnreachable,
                "the proxy \(proxy) cannot be reached from here; check the network, or change the setting", cause: cause
            )
        case .timedOut:
            self.init(
                .timedOut, "no answer from the proxy \(proxy); check that it is on and that no firewall blocks it",
                cause: cause)
        case .permissionDenied:
            self.init(
                .proxyUnreachable, "this machine's firewall blocks connections to the proxy \(proxy)", cause: cause)
        case .invalidAddress, .unsupportedAddress, .addressInUse, .failed:
            self.init(
                .failed, "no connection to the proxy \(proxy) could be made; its log may tell why", cause: cause)
        }
    }
}
