import { describe, expect, it } from 'vitest';
import { splitComments } from './comments.js';
import { readText, repositoryFiles } from './repository-files.js';

/* Every folder of a kind is named where a reader looks for it, and comments name what exists. */

const architecture = readText('ARCHITECTURE.md');
const folders = (pattern: RegExp) => [...new Set(repositoryFiles.flatMap((path) => pattern.exec(path)?.[1] ?? []))];
/** Folders that a text does not name as `name`, `name/` or `libs/name`. */
function unnamed(names: readonly string[], text: string): string[] {
  return names.filter((name) => !new RegExp(`(^|[\\s\`/(])${name}/?[\`\\s,:;.)]`, 'm').test(text));
}

describe('a folder', () => {
  it('of a library is named in ARCHITECTURE.md, and its README begins with its name', () => {
    const libraries = folders(/^libs\/([^/]+)\//);
    expect(libraries.length).toBeGreaterThan(15);
    expect(unnamed(libraries, architecture)).toEqual([]);
    const headings = libraries.map((name) => readText(`libs/${name}/README.md`).split('\n')[0]);
    expect(headings).toEqual(libraries.map((name) => `# ${name}`));
  });

  it('of the platform library has a row in its README, and is named in ARCHITECTURE.md', () => {
    const platform = folders(/^libs\/platform\/src\/([^/]+)\//);
    const rows = [...readText('libs/platform/README.md').matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name ?? '');
    expect(rows.toSorted()).toEqual(platform.toSorted());
    expect(unnamed(platform, architecture)).toEqual([]);
  });

  it('of the root is named in ARCHITECTURE.md', () => {
    expect(unnamed(folders(/^([a-z]\w*)\//), architecture)).toEqual([]);
  });

  it('is looked for: one that is not named is found', () => {
    expect(unnamed(['queue', 'stubs', 'platform'], 'libs/\n  queue/   jobs\n  platform/  config, stubsy')).toEqual([
      'stubs',
    ]);
  });
});

/** Names that comments may use although no file declares them: other projects', formats' and mathematics'. */
const foreignNames = new Set([
  // Fastify, ioredis, BullMQ and OpenTelemetry.
  ...['elapsedTime', 'onResponse', 'enableAutoPipelining', 'move_active_to_wait', 'OTEL_SERVICE_NAME'],
  // ONNX, office files, clocks, samplers and schedulers.
  ...['NodeProto', 'ValueInfoProto', 'INTS', 'worksheet', 'strftime', 'dynatemp', 'alphas_cumprod', 'window_W'],
  // Parts of names and words.
  ...['_q4', 'msg_', 'rs_', 'fc_', 'ctc_', 'AB12', 'law', 'twenties', 'sixes'],
]);

/** Identifiers between backticks in the comments of a source, without those of one or two letters. */
function namedIn(comments: readonly string[]): string[] {
  return comments.flatMap((comment) =>
    [...comment.matchAll(/`([A-Za-z_$][\w$]{2,})(?:\(\))?`/g)].map(([, name]) => name ?? ''),
  );
}

describe('a comment', () => {
  const programs = repositoryFiles.filter((path) => /\.(tsx?|mts|mjs|cjs)$/.test(path));
  const data = repositoryFiles.filter(
    (path) =>
      /\.(ya?ml|json|sql|prisma|py|sh|Dockerfile)$|^\.ci\/run$/.test(path) && !path.endsWith('package-lock.json'),
  );
  const sources = programs.map((path) => ({ path, ...splitComments(readText(path)) }));
  const words = new Set(
    [...sources.map(({ code }) => code), ...data.map(readText)].flatMap(
      (text) => text.match(/[A-Za-z_$][\w$]*/g) ?? [],
    ),
  );
  const stale = (comments: readonly string[]) =>
    namedIn(comments).filter((name) => !words.has(name) && !foreignNames.has(name));

  it('names only identifiers that exist in the code', () => {
    expect(sources.flatMap(({ path, comments }) => stale(comments).map((name) => `${path}: ${name}`))).toEqual([]);
  });

  it('is checked: a name that no code has is found', () => {
    // Put together here, because the text of a test is code, too.
    const gone = ['remove', 'Everything', 'Twice'].join('');
    const { comments, code } = splitComments(`const url = 'http://a'; // See \`${gone}\` and \`splitComments\`.\n`);
    expect(code).toContain('http://a');
    expect(stale(comments)).toEqual([gone]);
  });

  it('uses every foreign name of the list', () => {
    const used = new Set(sources.flatMap(({ comments }) => namedIn(comments)));
    expect([...foreignNames].filter((name) => !used.has(name))).toEqual([]);
  });
});
