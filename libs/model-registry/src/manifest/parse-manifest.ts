import 'reflect-metadata';
import { createRequire } from 'node:module';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from '#platform/validation';
import type * as Yaml from 'yaml';
import { PlatformError } from '#common';
import { noCapabilities } from './capabilities.schema.js';
import type { ManifestProblem } from './manifest-problem.js';
import { findFurtherProblems, findManifestProblems } from './manifest-rules.js';
import { type ManifestSource, type ModelManifest, modelTypes } from './manifest.js';
import { ManifestSchema } from './manifest.schema.js';

const load = createRequire(import.meta.url);

/**
 * Parses a manifest from YAML (or JSON). `file` is named in the error. Fails with `INVALID_MANIFEST`, which lists every
 * problem with its field path; unknown fields are problems.
 */
export function parseManifest(text: string, file: string): ModelManifest {
  // Loaded on first use: most processes read manifests that are already parsed, and the parser has 70 files.
  const { parseDocument } = load('yaml') as typeof Yaml;
  const document = parseDocument(text, { prettyErrors: true });
  const syntaxErrors = document.errors.map(({ message }) => ({ path: '', message: firstLine(message) }));
  if (syntaxErrors.length > 0) throw manifestError(file, syntaxErrors);
  return validateManifest(document.toJS() as unknown, file);
}

/** Validates an already parsed manifest. */
export function validateManifest(value: unknown, file: string): ModelManifest {
  const { manifest, problems } = readShape(value, file);
  const all = problems.length > 0 ? withFurther(problems, manifest) : findManifestProblems(manifest);
  if (all.length > 0) throw manifestError(file, all);
  return manifest;
}

/** Of a field with the wrong shape, the rules would only repeat that. */
function withFurther(problems: ManifestProblem[], manifest: ModelManifest): ManifestProblem[] {
  const isNew = ({ path }: ManifestProblem) => !problems.some((known) => overlaps(known.path, path));
  return [...problems, ...findFurtherProblems(manifest).filter(isNew)];
}

/** True if one path is the other or leads to it. */
function overlaps(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long === short || long.startsWith(`${short}.`) || long.startsWith(`${short}[`);
}

/**
 * Reads an already validated manifest: an installed `manifest.json`. Only its shape is checked again. Rules over
 * several fields may be newer than the manifest, and a running model must keep running after an upgrade.
 */
export function readStoredManifest(value: unknown, file: string): ModelManifest {
  const { manifest, problems } = readShape(value, file);
  if (problems.length > 0) throw manifestError(file, problems);
  return manifest;
}

/** Checks the fields one by one. The manifest is whole only if there are no problems. */
function readShape(value: unknown, file: string): { manifest: ModelManifest; problems: ManifestProblem[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw manifestError(file, [{ path: '', message: 'is not a mapping of fields' }]);
  }
  const type: unknown = (value as Record<string, unknown>)['type'];
  if (!(modelTypes as readonly unknown[]).includes(type)) {
    throw manifestError(file, [{ path: 'type', message: `must be one of ${modelTypes.join(', ')}` }]);
  }
  const instance = plainToInstance(ManifestSchema, value);
  const errors = validateSync(instance, { whitelist: true, forbidNonWhitelisted: true, stopAtFirstError: true });
  const problems = errors.flatMap((error) => problemsOf(error, ''));
  return { manifest: withDefaults(value as ModelManifest), problems };
}

function withDefaults(value: ModelManifest): ModelManifest {
  return {
    ...value,
    sources: listOf(value.sources).map(completeSource),
    converter: value.converter ?? { kind: 'none' },
    capabilities: { ...noCapabilities, ...value.capabilities },
  };
}

/** Lists that a manifest may leave out are empty, those of mirrors too. */
function completeSource(source: ManifestSource): ManifestSource {
  const files = listOf(source.files);
  if (source.mirrors === undefined) return { ...source, files };
  const mirrors = listOf(source.mirrors).map((mirror) => ({
    ...mirror,
    sources: listOf(mirror.sources).map(completeSource),
  }));
  return { ...source, files, mirrors };
}

/** The list, or none where the manifest has something else. */
function listOf<Item>(value: Item[] | undefined): Item[] {
  return Array.isArray(value) ? value : [];
}

function problemsOf(error: ValidationError, parent: string): ManifestProblem[] {
  const path = /^\d+$/.test(error.property) ? `${parent}[${error.property}]` : joinPath(parent, error.property);
  if (error.children && error.children.length > 0) return error.children.flatMap((child) => problemsOf(child, path));
  const [[rule, message] = ['', 'is not valid']] = Object.entries(error.constraints ?? {});
  if (rule === 'whitelistValidation') return [{ path, message: 'is not a field of a manifest' }];
  if (error.value === undefined) return [{ path, message: 'is required' }];
  return [
    { path, message: message.startsWith(`${error.property} `) ? message.slice(error.property.length + 1) : message },
  ];
}

function joinPath(parent: string, property: string): string {
  return parent === '' ? property : `${parent}.${property}`;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}

function manifestError(file: string, problems: ManifestProblem[]): PlatformError {
  const text = problems.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ');
  return new PlatformError('INVALID_MANIFEST', `${file}: ${text}.`, problems[0]?.path || null, {
    issues: problems.map(({ path, message }) => ({
      code: 'invalid_manifest',
      path: path.split(/[.[\]]+/).filter((part) => part !== ''),
      message,
    })),
  });
}
