/** What the laws use of wabt, the assembler that the text of kernels is held against. */
declare module 'wabt' {
  interface WasmModule {
    /** Throws where types do not fit. */
    validate(features: Readonly<Record<string, boolean>>): void
    toBinary(options: object): { readonly buffer: Uint8Array }
    destroy(): void
  }
  export default function wabt(): Promise<{
    parseWat(name: string, text: string, features: Readonly<Record<string, boolean>>): WasmModule
  }>
}
