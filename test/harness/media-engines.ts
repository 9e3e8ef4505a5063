import type { MediaTools } from '#media';
import { runSourceArguments, sourcePath } from '#test/source-program';

type MediaToolsOptions = NonNullable<Parameters<typeof MediaTools.find>[0]>;

/** Options of `MediaTools.find` for an installation with nothing but the packages of this project. */
export const bundledOnly: Pick<MediaToolsOptions, 'ffmpeg' | 'bundled'> = {
  ffmpeg: '/no/such/ffmpeg',
  bundled: {
    modulePath: sourcePath('libs/media/src/bundled/media-program.main.ts'),
    nodeArguments: runSourceArguments,
  },
};

/** Options for each engine that must do the same. */
export const mediaEngines: readonly [string, Pick<MediaToolsOptions, 'ffmpeg' | 'bundled'>][] = [
  ['ffmpeg of the machine', { bundled: null }],
  ['bundled ffmpeg', bundledOnly],
];
