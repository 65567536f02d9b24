// Views for people who read the database with SQL. Retinue itself does not use them. Their texts are part of the schema that a migration creates, so they
// never change: a new version of a view is a new migration.

/** Facts with their whole data, as Retinue reads them. */
export const wholeFactsView = `
  CREATE VIEW whole_facts AS
    SELECT
      f.position, f.run, f.seq, f.tree,
      CASE WHEN f.at GLOB '*[^0-9]*' THEN f.at ELSE strftime('%Y-%m-%dT%H:%M:%fZ', f.at / 1000.0, 'unixepoch') END AS at,
      f.v, f.type,
      CASE WHEN json_valid(f.data) AND json_valid(b.data) THEN json_patch(b.data, f.data) ELSE f.data END AS data,
      CASE typeof(f.hash) WHEN 'blob' THEN lower(hex(f.hash)) ELSE f.hash END AS hash
    FROM facts AS f LEFT JOIN facts AS b ON b.position = f.base;
`;

/**
 * Delegated runs with the columns of OpenFork's table SubSessions. The permissions are the rulesets of the run and of all its ancestors.
 * `facts`: the table or view of whole facts.
 */
export function createSubSessionsView(facts: 'facts' | 'whole_facts'): string {
  return `
  CREATE VIEW sub_sessions AS
    SELECT
      runs.id AS Id,
      runs.parent AS ParentSessionId,
      CASE WHEN created.data ->> '$.parentCall.turn' IS NOT NULL
        THEN runs.parent || '/' || (created.data ->> '$.parentCall.turn') END AS ParentMessageId,
      replace(created.data ->> '$.agent', 'openfork/', '') AS AgentType,
      CASE runs.row ->> '$.status'
        WHEN 'queued' THEN 'Pending' WHEN 'completed' THEN 'Completed' WHEN 'cancelled' THEN 'Cancelled'
        WHEN 'failed' THEN 'Failed' WHEN 'timed_out' THEN 'Failed' WHEN 'exhausted' THEN 'Failed'
        ELSE 'Running' END AS Status,
      created.data ->> '$.brief.task' AS Prompt,
      CASE WHEN ended.data ->> '$.outcome.success' THEN ended.data ->> '$.outcome.summary' END AS Result,
      ended.data ->> '$.outcome.error.message' AS Error,
      (
        WITH RECURSIVE line (id, parent) AS (
          SELECT own.id, own.parent FROM runs AS own WHERE own.id = runs.id
          UNION ALL
          SELECT above.id, above.parent FROM line JOIN runs AS above ON above.id = line.parent
        )
        SELECT json_group_array(json(ruleset.value))
        FROM line
        JOIN runs AS each_run ON each_run.id = line.id
        JOIN ${facts} AS grants ON grants.run = each_run.n AND grants.seq = 1,
          json_each(grants.data, '$.grant.rulesets') AS ruleset
        WHERE json_valid(grants.data)
      ) AS EffectivePermissionsJson,
      created.at AS CreatedAt,
      ended.at AS CompletedAt
    FROM runs
    JOIN ${facts} AS created ON created.run = runs.n AND created.seq = 1 AND json_valid(created.data)
    LEFT JOIN ${facts} AS ended ON ended.run = runs.n AND ended.seq = runs.seq AND ended.type = 'run.ended' AND json_valid(ended.data)
    WHERE runs.parent IS NOT NULL;
`;
}
