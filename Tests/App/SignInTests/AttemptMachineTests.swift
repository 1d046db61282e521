// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreSignIn
import Testing

@Suite struct AttemptMachineTests {
    private static let events: [AttemptEvent] =
        FlowMatch.allCases.flatMap {
            [.token($0), .refusal($0, cancelled: true), .refusal($0, cancelled: false), .loggedOut($0)]
        } + [
            .exchanged, .exchangeRefused, .exchangeFailed, .cancel, .graceOver, .expired, .browserFailed, .resumed,
            .revoked,
        ]

    struct Row: Sendable {
        let from: AttemptPhase
        let event: AttemptEvent
        let to: AttemptPhase?
        let effects: [AttemptEffect]
        init(_ from: AttemptPhase, _ event: AttemptEvent, _ to: AttemptPhase?, _ effects: [AttemptEffect]) {
            (self.from, self.event, self.to, self.effects) = (from, event, to, effects)
        }
    }

    /// Everything that changes anything. What is not here changes nothing.
    static let rows: [Row] = [
        Row(.waiting, .token(.same), .exchanging, [.exchange]),
        Row(.waiting, .token(.absent), .waiting, [.probe]),
        Row(.waiting, .refusal(.same, cancelled: true), nil, [.finish(.cancelled)]),
        Row(.waiting, .refusal(.same, cancelled: false), nil, [.finish(.failed)]),
        Row(.waiting, .exchanged, nil, [.finish(.signedIn)]),
        Row(.waiting, .cancel, .cancelling, [.startGrace]),
        Row(.waiting, .expired, nil, [.finish(.expired)]),
        Row(.waiting, .browserFailed, nil, [.finish(.failed)]),
        Row(.waiting, .resumed, .waiting, []),
        Row(.exchanging, .exchanged, nil, [.finish(.signedIn)]),
        Row(.exchanging, .exchangeRefused, nil, [.finish(.failed)]),
        Row(.exchanging, .exchangeFailed, nil, [.finish(.failed)]),
        Row(.exchanging, .cancel, .exchangingCancelled, [.startGrace]),
        Row(.exchanging, .expired, nil, [.abandonExchange, .finish(.expired)]),
        Row(.exchanging, .resumed, .exchanging, [.exchange]),
        Row(.cancelling, .token(.same), .exchanging, [.exchange]),
        Row(.cancelling, .token(.absent), .cancelling, [.probe]),
        Row(.cancelling, .exchanged, nil, [.finish(.signedIn)]),
        Row(.cancelling, .refusal(.same, cancelled: true), nil, [.finish(.cancelled)]),
        Row(.cancelling, .refusal(.same, cancelled: false), nil, [.finish(.cancelled)]),
        Row(.cancelling, .graceOver, nil, [.finish(.cancelled)]),
        Row(.cancelling, .expired, nil, [.finish(.cancelled)]),
        Row(.cancelling, .resumed, nil, [.finish(.cancelled)]),
        Row(.exchangingCancelled, .exchanged, nil, [.finish(.signedIn)]),
        Row(.exchangingCancelled, .exchangeRefused, nil, [.finish(.cancelled)]),
        Row(.exchangingCancelled, .exchangeFailed, nil, [.finish(.cancelled)]),
        Row(.exchangingCancelled, .resumed, nil, [.finish(.cancelled)]),
        Row(.exchangingCancelled, .graceOver, nil, [.abandonExchange, .finish(.cancelled)]),
        Row(.exchangingCancelled, .expired, nil, [.abandonExchange, .finish(.cancelled)]),
        Row(.leaving, .loggedOut(.same), .revoking, [.revoke]),
        Row(.leaving, .loggedOut(.absent), .revoking, [.revoke]),
        Row(.leaving, .cancel, .revoking, [.revoke]),
        Row(.leaving, .expired, .revoking, [.revoke]),
        Row(.leaving, .browserFailed, .revoking, [.revoke]),
        Row(.leaving, .resumed, .revoking, [.revoke]),
        Row(.revoking, .revoked, nil, [.finish(.signedOut)]),
        Row(.revoking, .resumed, .revoking, [.revoke]),
        Row(.borrowed, .token(.same), nil, [.finish(.signedIn)]),
        Row(.borrowed, .token(.absent), nil, [.finish(.signedIn)]),
        Row(.borrowed, .loggedOut(.same), nil, [.finish(.signedIn)]),
        Row(.borrowed, .loggedOut(.absent), nil, [.finish(.signedIn)]),
        Row(.borrowed, .refusal(.same, cancelled: true), nil, [.finish(.signedIn)]),
        Row(.borrowed, .refusal(.same, cancelled: false), nil, [.finish(.signedIn)]),
        Row(.borrowed, .refusal(.absent, cancelled: true), nil, [.finish(.signedIn)]),
        Row(.borrowed, .refusal(.absent, cancelled: false), nil, [.finish(.signedIn)]),
        Row(.borrowed, .cancel, nil, [.finish(.cancelled)]),
        Row(.borrowed, .expired, nil, [.finish(.expired)]),
        Row(.borrowed, .browserFailed, nil, [.finish(.failed)]),
        Row(.borrowed, .resumed, .borrowed, []),
    ]

    @Test("HO-8, HO-11, HO-15: every phase and every event, against the table")
    func table() {
        for phase in AttemptPhase.allCases {
            for event in Self.events {
                let step = AttemptMachine.step(phase, event)
                let row = Self.rows.first { $0.from == phase && $0.event == event }
                #expect((step == nil) == (row == nil), "\(phase) \(event)")
                guard let step, let row else { continue }
                #expect(step.phase == row.to, "\(phase) \(event)")
                #expect(step.effects == row.effects, "\(phase) \(event)")
            }
        }
        #expect(
            Self.rows.count == Self.rows.map { "\($0.from) \($0.event)" }.reduce(into: Set()) { $0.insert($1) }.count)
    }

    @Test("No phase is a dead end: time, or a Cancel and its second, ends each")
    func noDeadEnd() {
        for phase in AttemptPhase.allCases where phase != .revoking {
            #expect(AttemptMachine.step(phase, .expired) != nil, "\(phase)")
        }
        #expect(AttemptMachine.step(.revoking, .revoked)?.phase == nil)
    }

    @Test("HO-8: nothing a stranger can send changes a sign-in that is waiting", arguments: AttemptPhase.allCases)
    func stranger(phase: AttemptPhase) {
        let foreign: [AttemptEvent] = [
            .token(.foreign), .refusal(.foreign, cancelled: true), .refusal(.foreign, cancelled: false),
            .loggedOut(.foreign),
        ]
        for event in foreign { #expect(AttemptMachine.step(phase, event) == nil, "\(event)") }
        if phase != .borrowed {
            #expect(AttemptMachine.step(phase, .refusal(.absent, cancelled: true)) == nil)
        }
    }
}
