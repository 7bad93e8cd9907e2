/// A certificate for `localhost` and 127.0.0.1, signed by itself, and its key: for tests only, valid until 2046.
enum LoopbackCertificate {
    static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBmjCCAT+gAwIBAgIUObdzxDxqgDorKfUexzUgHxrQRWQwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyMzAwNTgxNVoXDTQ2MTExODAw
        NTgxNVowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAE2pJ1akUb1sln9/lhtW+F9e51vLRg1UwcdUGmiRpasXaPsj98tRv73p3x
        MmbV+LHwbclqikaAFGC7YglJ65iVpaNvMG0wHQYDVR0OBBYEFJ/Wy9bbKYWHav0s
        0l/zw12FbXVhMB8GA1UdIwQYMBaAFJ/Wy9bbKYWHav0s0l/zw12FbXVhMBoGA1Ud
        EQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
        BAMCA0kAMEYCIQD/OlMuHm+RldaT7UN4tZgq8JB852as5bX15TLltEkBbAIhALKl
        7KdVMgWOj2QnbSWaUIb88svNrOt60SVl3XBjnRRz
        -----END CERTIFICATE-----

        """
    static let keyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgchvOu3J7do1gdOdX
        PAT4e8dhjoqzTNiWXVe+hjIQBCGhRANCAATaknVqRRvWyWf3+WG1b4X17nW8tGDV
        TBx1QaaJGlqxdo+yP3y1G/venfEyZtX4sfBtyWqKRoAUYLtiCUnrmJWl
        -----END PRIVATE KEY-----

        """
    /// In openssl's words.
    static let fingerprint = "0114cf12971023034ad278ad83a494fbb8d796f21b463560bfdfa1a1f9e7452e"
}
