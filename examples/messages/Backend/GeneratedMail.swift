// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// Conversations made by rule, for lists as long as a real mailbox: the same number gives the same mail.
enum GeneratedMail {
    private static let people = [
        "Ada Winter", "Bruno Castel", "Chiara Monti", "David Osei", "Elif Demir", "Fatou Sarr", "Georg Lindner",
        "Hana Sato", "Ivo Petrov", "Jana Novak", "Karim Aziz", "Lucie Blanc", "Milo Grant",
    ]
    private static let openings = [
        "Minutes of", "Question about", "Photos of", "Reminder:", "Compte rendu :", "Invitation :", "Notes on",
        "Re: plan for", "Facture de", "News from", "Retour sur",
    ]
    private static let things = [
        "the north pier", "the winter timetable", "le jardin partagé", "the lighthouse lamp", "la réunion de quartier",
        "the second draft", "the boat repair", "le voyage à Trieste", "the choir", "the tide tables", "la bibliothèque",
        "the garden fence", "les inscriptions", "the bakery order", "the map of wells", "le covoiturage",
        "the old bridge",
    ]
    private static let bodies = [
        "All is well on our side; I only wanted you to have it in writing before the weekend.",
        "Tout est prêt, il ne manque que votre accord. Bonne journée !",
        "Could you have a look when you find a quiet moment? There is no hurry at all.",
        "Je vous réponds dès que j'ai la liste complète, sans doute demain.",
        "Short version: yes. Long version: also yes, but with a diagram.",
    ]

    /// Conversation number `index`, counted from 0; higher numbers are older.
    static func thread(_ index: Int) -> SampleThread {
        // Primes of different sizes, so that neighbours in the list differ in everything.
        let person = people[index * 7 % people.count]
        let email = person.lowercased().split(separator: " ").joined(separator: ".") + "@generated.example.org"
        let subject = "\(openings[index * 5 % openings.count]) \(things[index * 3 % things.count]) (\(index + 1))"
        let message = SampleMessage(
            from: "\(person) <\(email)>", to: ["me"], cc: [], minutesAgo: 30 * 1440 + Int64(index) * 17,
            text: bodies[index % bodies.count] + "\n\n" + person, html: nil, attachments: [])
        return SampleThread(
            subject: subject, mailbox: .inbox, starred: index % 41 == 0, unread: index % 23 == 0, messages: [message])
    }
}
