// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

// A process that migrates, for the tests to kill: database-probe PLACE ROWS

import NacreCore
import NacreDatabase

let arguments = CommandLine.arguments
guard arguments.count == 3, let rows = Int(arguments[2]) else { fatalError("usage: database-probe PLACE ROWS") }
let database = try Database.open(arguments[1])
print("begun")
try await database.migrate(
    "probe",
    [
        Migration(1, "CREATE TABLE probe_first (n BIGINT);"),
        Migration(
            2,
            """
            CREATE TABLE probe_second (row {id}, n BIGINT NOT NULL);
            WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < \(rows))
            INSERT INTO probe_second (n) SELECT n FROM counted;
            CREATE INDEX probe_second_n ON probe_second (n);
            """),
    ])
print("done")
