import { openGraph } from '#inference';
import { halfFloatGraph } from '#model-store/device';

/* Exits with 0 if the device of WebGPU doubles a half float. */

const [one, two] = [0x3c00, 0x4000];
const graph = { modelPath: '', model: halfFloatGraph(), providers: ['webgpu'], intraOpThreads: 1 };
const session = await openGraph(graph);
const { y } = await session.run({ x: session.tensor('float16', Uint16Array.of(one), [1]) }, ['y']);
process.exit(y?.data instanceof Uint16Array && y.data[0] === two ? 0 : 1);
