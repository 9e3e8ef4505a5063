import { ImageDecoder } from '#media';
import { runSourceArguments, sourcePath } from '#test/source-program';

// vitest runs sources in a way that a child process does not inherit.
const modulePath = sourcePath('libs/media/src/image/decoder/decode.main.ts');
ImageDecoder.shared = new ImageDecoder({ program: { modulePath, nodeArguments: runSourceArguments } });
