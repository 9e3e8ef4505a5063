import { describe, expect, it } from 'vitest';
import { readText, repositoryFiles } from './repository-files.js';

/*
 * Migrations expand before they contract (docs/operate/upgrading.md): processes of the previous release run on the new
 * schema, so a migration removes and renames nothing that they read, and demands nothing that they do not write. One that
 * does has a line `-- contract: <version>`, the last release that needed it.
 */

/** No release came before these; an applied migration cannot be changed. */
const lastOfFirstRelease = '20261129010000_exchange_receipts';

const marker = /^-- contract: (\d+\.\d+\.\d+)$/m;

/** Statements without comments, texts and bodies of functions; the body of a DO block runs, so it stays. */
function statementsOf(sql: string): string[] {
  const text = sql
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\bDO\s+(\$\w*\$)([\s\S]*?)\1/gi, '$2')
    .replaceAll(/(\$\w*\$)[\s\S]*?\1/g, "''")
    .replaceAll(/'(?:[^']|'')*'/g, "''");
  return text
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** Columns that an ALTER TABLE adds, with their definitions. */
function addedColumns(statement: string): string[] {
  if (!/^ALTER TABLE\b/i.test(statement)) return [];
  const parts = statement.split(/,(?![^()]*\))/);
  return parts.flatMap((part) => /\bADD (?:COLUMN )?(?:IF NOT EXISTS )?(?!CONSTRAINT\b)(.*)$/i.exec(part)?.[1] ?? []);
}

const contracting: [RegExp, string][] = [
  [/\bDROP (TABLE|VIEW|MATERIALIZED VIEW|SCHEMA|TYPE|FUNCTION|PROCEDURE|SEQUENCE|COLUMN)\b/i, 'drops'],
  [/\bALTER TABLE .*\bDROP (?!CONSTRAINT\b|COLUMN\b|DEFAULT\b|NOT NULL\b|EXPRESSION\b|IDENTITY\b)"?\w/i, 'drops'],
  [/\bRENAME\b/i, 'renames'],
  [/\bALTER (COLUMN )?"?\w+"? (SET DATA )?TYPE\b/i, 'changes the type'],
  [/\bSET NOT NULL\b/i, 'demands a value'],
  [/\bDROP DEFAULT\b/i, 'drops a default'],
];

/** What the previous release would miss, one line for each statement. */
function contractionsOf(sql: string): string[] {
  return statementsOf(sql).flatMap((statement) => {
    const found = contracting.filter(([pattern]) => pattern.test(statement)).map(([, what]) => what);
    const demanded = addedColumns(statement).filter(
      (column) => /\bNOT NULL\b/i.test(column) && !/\b(DEFAULT|GENERATED|(BIG|SMALL)?SERIAL)\b/i.test(column),
    );
    if (demanded.length > 0) found.push('adds a column that the previous release does not write');
    return [...new Set(found)].map((what) => `${what}: ${statement.slice(0, 80)}`);
  });
}

/** Versions of the changelog that are released. */
function releasesOf(changelog: string): string[] {
  return [...changelog.matchAll(/^## (\d+\.\d+\.\d+)(.*)$/gm)]
    .filter(([, , rest = '']) => !rest.includes('unreleased'))
    .map(([, version = '']) => version);
}

/** Offences of one migration. */
function offencesOf(sql: string, releases: readonly string[]): string[] {
  const found = contractionsOf(sql);
  const version = marker.exec(sql)?.[1];
  if (version === undefined) return found;
  if (found.length === 0) return [`has a marker for ${version}, and contracts nothing`];
  return releases.includes(version) ? [] : [`names ${version}, which the changelog does not list as released`];
}

const migrations = repositoryFiles
  .filter((path) => /^prisma\/migrations\/[^/]+\/migration\.sql$/.test(path))
  .map((path) => ({ name: path.split('/')[2] ?? '', sql: readText(path) }));

describe('migrations', () => {
  it('are found, those of the first release among them', () => {
    expect(migrations.length).toBeGreaterThan(20);
    expect(migrations.map(({ name }) => name)).toContain(lastOfFirstRelease);
  });

  it('break no process of the previous release', () => {
    const releases = releasesOf(readText('CHANGELOG.md'));
    const later = migrations.filter(({ name }) => name > lastOfFirstRelease);
    expect(later.flatMap(({ name, sql }) => offencesOf(sql, releases).map((text) => `${name} ${text}`))).toEqual([]);
  });

  it('are read: those before the first release contract, and are found', () => {
    const contracts = migrations.filter(({ sql }) => contractionsOf(sql).length > 0).map(({ name }) => name);
    expect(contracts).toContain('20261122080000_lean_charges');
  });
});

describe('the check of migrations', () => {
  it.each([
    ['a dropped table', 'DROP TABLE "jobs";'],
    ['a dropped column', 'ALTER TABLE "jobs" ADD COLUMN "a" text, DROP COLUMN "b";'],
    ['a column dropped without the word', 'ALTER TABLE "jobs" DROP "b";'],
    ['a renamed column', 'ALTER TABLE "jobs" RENAME COLUMN "a" TO "b";'],
    ['a renamed value', "ALTER TYPE \"job_state\" RENAME VALUE 'queued' TO 'waiting';"],
    ['a changed type', 'ALTER TABLE "jobs" ALTER COLUMN "a" TYPE bigint;'],
    ['a column that must not be null any more', 'ALTER TABLE "jobs" ALTER COLUMN "a" SET NOT NULL;'],
    ['a new column that must be written', 'ALTER TABLE "jobs" ADD COLUMN "a" numeric(10, 2) NOT NULL;'],
    ['a dropped function', 'DROP FUNCTION ledger_charge(bigint);'],
    ['what a block does', 'DO $$ BEGIN DROP TABLE "jobs"; END $$;'],
  ])('finds %s', (_name, sql) => expect(contractionsOf(sql)).toHaveLength(1));

  it.each([
    ['a new table', 'CREATE TABLE "a" ("id" bigint NOT NULL, CONSTRAINT "a_pkey" PRIMARY KEY ("id"));'],
    ['a new column with a default', 'ALTER TABLE "jobs" ADD COLUMN "a" integer NOT NULL DEFAULT 0;'],
    ['a new column that may be null', 'ALTER TABLE "jobs" ADD COLUMN "a" text;'],
    ['a relaxed column', 'ALTER TABLE "jobs" ALTER COLUMN "a" DROP NOT NULL;'],
    ['a dropped constraint or index', 'ALTER TABLE "jobs" DROP CONSTRAINT "a"; DROP INDEX "b";'],
    ['the body of a function', 'CREATE FUNCTION f() RETURNS void AS $$ DROP TABLE t; $$ LANGUAGE sql;'],
    ['comments and texts', '-- DROP TABLE a;\nCOMMENT ON TABLE "jobs" IS \'never DROP TABLE; or RENAME\';'],
  ])('accepts %s', (_name, sql) => expect(contractionsOf(sql)).toEqual([]));

  it('accepts a contraction whose marker names a release, and no other marker', () => {
    const drop = 'ALTER TABLE "jobs" DROP COLUMN "b";\n';
    const releases = releasesOf('# Changelog\n\n## 0.3.0 – unreleased\n\n## 0.2.0 – 2027-01-01\n');
    expect(releases).toEqual(['0.2.0']);
    expect(offencesOf(`-- contract: 0.2.0\n${drop}`, releases)).toEqual([]);
    expect(offencesOf(drop, releases)).toHaveLength(1);
    expect(offencesOf(`-- contract: 0.3.0\n${drop}`, releases)).toEqual([
      'names 0.3.0, which the changelog does not list as released',
    ]);
    expect(offencesOf('-- contract: 0.2.0\nSELECT 1;', releases)).toEqual([
      'has a marker for 0.2.0, and contracts nothing',
    ]);
  });
});
