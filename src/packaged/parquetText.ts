/** Two files of parquet-wasm, compressed by brotli and written in base64, which the build puts here. */
export const glue: string = ''
export const wasm: string = ''
