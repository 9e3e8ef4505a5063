import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { errorText } from '#common/values';
import { idOf, type Manifest } from './manifest.js';
import { root } from './render-overlay.js';

/*
 * The schemas of Kubernetes and KEDA come as npm packages in two parts: validators for values, and types for fields.
 * Only the types detect a misspelt field.
 */

/** A class of those packages; its instances validate themselves. */
type Model = new (data: object) => { validate(): void };

/** Module with the class and the type of a kind: `kubernetes-models/apps/v1`. */
function moduleOf({ apiVersion }: Manifest): string {
  const isKeda = apiVersion.startsWith('keda.sh/');
  return isKeda ? `@kubernetes-models/keda/${apiVersion}` : `kubernetes-models/${apiVersion}`;
}

/** Invalid values of the objects, one line each. */
export async function wrongValues(manifests: readonly Manifest[]): Promise<string[]> {
  const found = await Promise.all(manifests.map(wrongValue));
  return found.flat();
}

async function wrongValue(manifest: Manifest): Promise<string[]> {
  try {
    const models = (await import(`${moduleOf(manifest)}/${manifest.kind}`)) as Record<string, Model | undefined>;
    const Kind = models[manifest.kind];
    if (!Kind) return [`${idOf(manifest)}: ${manifest.apiVersion} has no such kind`];
    new Kind(manifest).validate();
    return [];
  } catch (error) {
    return [`${idOf(manifest)}: ${errorText(error)}`];
  }
}

/**
 * Unknown or mistyped fields, one list per object. Takes many objects per call, because loading the types takes most of
 * the time.
 */
export function wrongFields(manifests: readonly Manifest[]): string[][] {
  const lines = manifests.map((manifest, index) => {
    const type = `import('${moduleOf(manifest)}/${manifest.kind}').I${manifest.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(manifest)};`;
  });
  const found: string[][] = manifests.map(() => []);
  for (const { line, text } of diagnose(lines.join('\n'))) found[line]?.push(text);
  return found;
}

/** Compiles a virtual file as if it were in this folder. */
function diagnose(text: string): { line: number; text: string }[] {
  const path = join(root, 'test', 'k8s', 'rendered-objects.ts');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.fileExists = (name) => name === path || ts.sys.fileExists(name);
  host.readFile = (name) => (name === path ? text : readFileSync(name, 'utf8'));
  host.getSourceFile = (name, ...rest) =>
    name === path ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2023) : read(name, ...rest);
  const program = ts.createProgram([path], options, host);
  const source = program.getSourceFile(path);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((each) => ({
    line: source?.getLineAndCharacterOfPosition(each.start ?? 0).line ?? 0,
    text: ts.flattenDiagnosticMessageText(each.messageText, ' '),
  }));
}
