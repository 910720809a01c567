/*
 * Licensed to the Apache Software Foundation (ASF) under one or more
 * contributor license agreements.  See the NOTICE file distributed with
 * this work for additional information regarding copyright ownership.
 * The ASF licenses this file to You under the Apache License, Version 2.0
 * (the "License"); you may not use this file except in compliance with
 * the License.  You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

/**
 * Messages of Spark Connect: those, and of them the fields, that our client uses. Made of the .proto files of Apache
 * Spark by `scripts/sparkMessages.ts`; not to be edited. Of the fields of a `oneof` at most one is there.
 */
export type AnalyzePlanRequest_Explain_ExplainMode =
  | 'EXPLAIN_MODE_UNSPECIFIED'
  | 'EXPLAIN_MODE_SIMPLE'
  | 'EXPLAIN_MODE_EXTENDED'
  | 'EXPLAIN_MODE_CODEGEN'
  | 'EXPLAIN_MODE_COST'
  | 'EXPLAIN_MODE_FORMATTED'
export type InterruptRequest_InterruptType =
  | 'INTERRUPT_TYPE_UNSPECIFIED'
  | 'INTERRUPT_TYPE_ALL'
  | 'INTERRUPT_TYPE_TAG'
  | 'INTERRUPT_TYPE_OPERATION_ID'
export type Join_JoinType =
  | 'JOIN_TYPE_UNSPECIFIED'
  | 'JOIN_TYPE_INNER'
  | 'JOIN_TYPE_FULL_OUTER'
  | 'JOIN_TYPE_LEFT_OUTER'
  | 'JOIN_TYPE_RIGHT_OUTER'
  | 'JOIN_TYPE_LEFT_ANTI'
  | 'JOIN_TYPE_LEFT_SEMI'
  | 'JOIN_TYPE_CROSS'
export type SetOperation_SetOpType = 'SET_OP_TYPE_UNSPECIFIED' | 'SET_OP_TYPE_INTERSECT' | 'SET_OP_TYPE_UNION' | 'SET_OP_TYPE_EXCEPT'
export type Aggregate_GroupType =
  | 'GROUP_TYPE_UNSPECIFIED'
  | 'GROUP_TYPE_GROUPBY'
  | 'GROUP_TYPE_ROLLUP'
  | 'GROUP_TYPE_CUBE'
  | 'GROUP_TYPE_PIVOT'
  | 'GROUP_TYPE_GROUPING_SETS'
export type Expression_Window_WindowFrame_FrameType = 'FRAME_TYPE_UNDEFINED' | 'FRAME_TYPE_ROW' | 'FRAME_TYPE_RANGE'
export type Expression_SortOrder_SortDirection = 'SORT_DIRECTION_UNSPECIFIED' | 'SORT_DIRECTION_ASCENDING' | 'SORT_DIRECTION_DESCENDING'
export type Expression_SortOrder_NullOrdering = 'SORT_NULLS_UNSPECIFIED' | 'SORT_NULLS_FIRST' | 'SORT_NULLS_LAST'
export interface Plan {
  readonly root?: Relation
}
export interface UserContext {
  readonly userId?: string
  readonly userName?: string
}
export interface AnalyzePlanRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly clientType?: string
  readonly schema?: AnalyzePlanRequest_Schema
  readonly explain?: AnalyzePlanRequest_Explain
  readonly sparkVersion?: AnalyzePlanRequest_SparkVersion
}
export interface AnalyzePlanRequest_Schema {
  readonly plan?: Plan
}
export interface AnalyzePlanRequest_Explain {
  readonly plan?: Plan
  readonly explainMode?: AnalyzePlanRequest_Explain_ExplainMode
}
export type AnalyzePlanRequest_SparkVersion = Readonly<Record<never, never>>
export interface AnalyzePlanResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
  readonly schema?: AnalyzePlanResponse_Schema
  readonly explain?: AnalyzePlanResponse_Explain
  readonly sparkVersion?: AnalyzePlanResponse_SparkVersion
}
export interface AnalyzePlanResponse_Schema {
  readonly schema?: DataType
}
export interface AnalyzePlanResponse_Explain {
  readonly explainString?: string
}
export interface AnalyzePlanResponse_SparkVersion {
  readonly version?: string
}
export interface ExecutePlanRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly operationId?: string
  readonly plan?: Plan
  readonly clientType?: string
  readonly requestOptions?: readonly ExecutePlanRequest_RequestOption[]
}
export interface ExecutePlanRequest_RequestOption {
  readonly reattachOptions?: ReattachOptions
}
export interface ReattachOptions {
  readonly reattachable?: boolean
}
export interface ExecutePlanResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
  readonly operationId?: string
  readonly responseId?: string
  readonly arrowBatch?: ExecutePlanResponse_ArrowBatch
  readonly resultComplete?: ExecutePlanResponse_ResultComplete
}
export interface ExecutePlanResponse_ArrowBatch {
  readonly rowCount?: bigint
  readonly data?: Uint8Array
  readonly startOffset?: bigint
}
export type ExecutePlanResponse_ResultComplete = Readonly<Record<never, never>>
export interface KeyValue {
  readonly key?: string
  readonly value?: string
}
export interface ConfigRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly operation?: ConfigRequest_Operation
  readonly clientType?: string
}
export interface ConfigRequest_Operation {
  readonly set?: ConfigRequest_Set
  readonly getOption?: ConfigRequest_GetOption
}
export interface ConfigRequest_Set {
  readonly pairs?: readonly KeyValue[]
  readonly silent?: boolean
}
export interface ConfigRequest_GetOption {
  readonly keys?: readonly string[]
}
export interface ConfigResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
  readonly pairs?: readonly KeyValue[]
  readonly warnings?: readonly string[]
}
export interface InterruptRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly clientType?: string
  readonly interruptType?: InterruptRequest_InterruptType
  readonly operationId?: string
}
export interface InterruptResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
  readonly interruptedIds?: readonly string[]
}
export interface ReattachExecuteRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly operationId?: string
  readonly clientType?: string
  readonly lastResponseId?: string
}
export interface ReleaseExecuteRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly operationId?: string
  readonly clientType?: string
  readonly releaseAll?: ReleaseExecuteRequest_ReleaseAll
  readonly releaseUntil?: ReleaseExecuteRequest_ReleaseUntil
}
export type ReleaseExecuteRequest_ReleaseAll = Readonly<Record<never, never>>
export interface ReleaseExecuteRequest_ReleaseUntil {
  readonly responseId?: string
}
export interface ReleaseExecuteResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
  readonly operationId?: string
}
export interface ReleaseSessionRequest {
  readonly sessionId?: string
  readonly userContext?: UserContext
  readonly clientType?: string
}
export interface ReleaseSessionResponse {
  readonly sessionId?: string
  readonly serverSideSessionId?: string
}
export interface Relation {
  readonly common?: RelationCommon
  readonly read?: Read
  readonly project?: Project
  readonly filter?: Filter
  readonly join?: Join
  readonly setOp?: SetOperation
  readonly sort?: Sort
  readonly limit?: Limit
  readonly aggregate?: Aggregate
  readonly localRelation?: LocalRelation
  readonly deduplicate?: Deduplicate
  readonly subqueryAlias?: SubqueryAlias
  readonly offset?: Offset
  readonly sample?: Sample
}
export interface RelationCommon {
  readonly planId?: bigint
}
export interface Read {
  readonly namedTable?: Read_NamedTable
  readonly dataSource?: Read_DataSource
}
export interface Read_NamedTable {
  readonly unparsedIdentifier?: string
  readonly options?: Readonly<Record<string, string>>
}
export interface Read_DataSource {
  readonly format?: string
  readonly schema?: string
  readonly options?: Readonly<Record<string, string>>
  readonly paths?: readonly string[]
}
export interface Project {
  readonly input?: Relation
  readonly expressions?: readonly Expression[]
}
export interface Filter {
  readonly input?: Relation
  readonly condition?: Expression
}
export interface Join {
  readonly left?: Relation
  readonly right?: Relation
  readonly joinCondition?: Expression
  readonly joinType?: Join_JoinType
}
export interface SetOperation {
  readonly leftInput?: Relation
  readonly rightInput?: Relation
  readonly setOpType?: SetOperation_SetOpType
  readonly isAll?: boolean
  readonly byName?: boolean
}
export interface Sort {
  readonly input?: Relation
  readonly order?: readonly Expression_SortOrder[]
  readonly isGlobal?: boolean
}
export interface Limit {
  readonly input?: Relation
  readonly limit?: number
}
export interface Offset {
  readonly input?: Relation
  readonly offset?: number
}
export interface Sample {
  readonly input?: Relation
  readonly lowerBound?: number
  readonly upperBound?: number
  readonly withReplacement?: boolean
  readonly seed?: bigint
}
export interface Aggregate {
  readonly input?: Relation
  readonly groupType?: Aggregate_GroupType
  readonly groupingExpressions?: readonly Expression[]
  readonly aggregateExpressions?: readonly Expression[]
}
export interface LocalRelation {
  readonly data?: Uint8Array
  readonly schema?: string
}
export interface Deduplicate {
  readonly input?: Relation
  readonly columnNames?: readonly string[]
  readonly allColumnsAsKeys?: boolean
}
export interface SubqueryAlias {
  readonly input?: Relation
  readonly alias?: string
  readonly qualifier?: readonly string[]
}
export interface Expression {
  readonly literal?: Expression_Literal
  readonly unresolvedAttribute?: Expression_UnresolvedAttribute
  readonly unresolvedFunction?: Expression_UnresolvedFunction
  readonly alias?: Expression_Alias
  readonly cast?: Expression_Cast
  readonly sortOrder?: Expression_SortOrder
  readonly window?: Expression_Window
  readonly unresolvedExtractValue?: Expression_UnresolvedExtractValue
}
export interface Expression_Window {
  readonly windowFunction?: Expression
  readonly partitionSpec?: readonly Expression[]
  readonly orderSpec?: readonly Expression_SortOrder[]
  readonly frameSpec?: Expression_Window_WindowFrame
}
export interface Expression_Window_WindowFrame {
  readonly frameType?: Expression_Window_WindowFrame_FrameType
  readonly lower?: Expression_Window_WindowFrame_FrameBoundary
  readonly upper?: Expression_Window_WindowFrame_FrameBoundary
}
export interface Expression_Window_WindowFrame_FrameBoundary {
  readonly currentRow?: boolean
  readonly unbounded?: boolean
  readonly value?: Expression
}
export interface Expression_SortOrder {
  readonly child?: Expression
  readonly direction?: Expression_SortOrder_SortDirection
  readonly nullOrdering?: Expression_SortOrder_NullOrdering
}
export interface Expression_Cast {
  readonly expr?: Expression
  readonly type?: DataType
  readonly typeStr?: string
}
export interface Expression_Literal {
  readonly null?: DataType
  readonly binary?: Uint8Array
  readonly boolean?: boolean
  readonly integer?: number
  readonly long?: bigint
  readonly double?: number
  readonly string?: string
  readonly date?: number
  readonly timestamp?: bigint
}
export interface Expression_UnresolvedAttribute {
  readonly unparsedIdentifier?: string
  readonly planId?: bigint
}
export interface Expression_UnresolvedFunction {
  readonly functionName?: string
  readonly arguments?: readonly Expression[]
  readonly isDistinct?: boolean
}
export interface Expression_Alias {
  readonly expr?: Expression
  readonly name?: readonly string[]
}
export interface Expression_UnresolvedExtractValue {
  readonly child?: Expression
  readonly extraction?: Expression
}
export interface DataType {
  readonly null?: DataType_NULL
  readonly binary?: DataType_Binary
  readonly boolean?: DataType_Boolean
  readonly byte?: DataType_Byte
  readonly short?: DataType_Short
  readonly integer?: DataType_Integer
  readonly long?: DataType_Long
  readonly float?: DataType_Float
  readonly double?: DataType_Double
  readonly decimal?: DataType_Decimal
  readonly string?: DataType_String
  readonly char?: DataType_Char
  readonly varChar?: DataType_VarChar
  readonly date?: DataType_Date
  readonly timestamp?: DataType_Timestamp
  readonly timestampNtz?: DataType_TimestampNTZ
  readonly array?: DataType_Array
  readonly struct?: DataType_Struct
  readonly map?: DataType_Map
  readonly unparsed?: DataType_Unparsed
}
export interface DataType_Decimal {
  readonly scale?: number
  readonly precision?: number
}
export interface DataType_Array {
  readonly elementType?: DataType
  readonly containsNull?: boolean
}
export interface DataType_Struct {
  readonly fields?: readonly DataType_StructField[]
}
export interface DataType_StructField {
  readonly name?: string
  readonly dataType?: DataType
  readonly nullable?: boolean
}
export interface DataType_Map {
  readonly keyType?: DataType
  readonly valueType?: DataType
  readonly valueContainsNull?: boolean
}
export interface DataType_Unparsed {
  readonly dataTypeString?: string
}
export type DataType_NULL = Readonly<Record<never, never>>
export type DataType_Binary = Readonly<Record<never, never>>
export type DataType_Boolean = Readonly<Record<never, never>>
export type DataType_Byte = Readonly<Record<never, never>>
export type DataType_Short = Readonly<Record<never, never>>
export type DataType_Integer = Readonly<Record<never, never>>
export type DataType_Long = Readonly<Record<never, never>>
export type DataType_Float = Readonly<Record<never, never>>
export type DataType_Double = Readonly<Record<never, never>>
export type DataType_String = Readonly<Record<never, never>>
export type DataType_Char = Readonly<Record<never, never>>
export type DataType_VarChar = Readonly<Record<never, never>>
export type DataType_Date = Readonly<Record<never, never>>
export type DataType_Timestamp = Readonly<Record<never, never>>
export type DataType_TimestampNTZ = Readonly<Record<never, never>>

export interface Messages {
  readonly Plan: Plan
  readonly UserContext: UserContext
  readonly AnalyzePlanRequest: AnalyzePlanRequest
  readonly AnalyzePlanRequest_Schema: AnalyzePlanRequest_Schema
  readonly AnalyzePlanRequest_Explain: AnalyzePlanRequest_Explain
  readonly AnalyzePlanRequest_SparkVersion: AnalyzePlanRequest_SparkVersion
  readonly AnalyzePlanResponse: AnalyzePlanResponse
  readonly AnalyzePlanResponse_Schema: AnalyzePlanResponse_Schema
  readonly AnalyzePlanResponse_Explain: AnalyzePlanResponse_Explain
  readonly AnalyzePlanResponse_SparkVersion: AnalyzePlanResponse_SparkVersion
  readonly ExecutePlanRequest: ExecutePlanRequest
  readonly ExecutePlanRequest_RequestOption: ExecutePlanRequest_RequestOption
  readonly ReattachOptions: ReattachOptions
  readonly ExecutePlanResponse: ExecutePlanResponse
  readonly ExecutePlanResponse_ArrowBatch: ExecutePlanResponse_ArrowBatch
  readonly ExecutePlanResponse_ResultComplete: ExecutePlanResponse_ResultComplete
  readonly KeyValue: KeyValue
  readonly ConfigRequest: ConfigRequest
  readonly ConfigRequest_Operation: ConfigRequest_Operation
  readonly ConfigRequest_Set: ConfigRequest_Set
  readonly ConfigRequest_GetOption: ConfigRequest_GetOption
  readonly ConfigResponse: ConfigResponse
  readonly InterruptRequest: InterruptRequest
  readonly InterruptResponse: InterruptResponse
  readonly ReattachExecuteRequest: ReattachExecuteRequest
  readonly ReleaseExecuteRequest: ReleaseExecuteRequest
  readonly ReleaseExecuteRequest_ReleaseAll: ReleaseExecuteRequest_ReleaseAll
  readonly ReleaseExecuteRequest_ReleaseUntil: ReleaseExecuteRequest_ReleaseUntil
  readonly ReleaseExecuteResponse: ReleaseExecuteResponse
  readonly ReleaseSessionRequest: ReleaseSessionRequest
  readonly ReleaseSessionResponse: ReleaseSessionResponse
  readonly Relation: Relation
  readonly RelationCommon: RelationCommon
  readonly Read: Read
  readonly Read_NamedTable: Read_NamedTable
  readonly Read_DataSource: Read_DataSource
  readonly Project: Project
  readonly Filter: Filter
  readonly Join: Join
  readonly SetOperation: SetOperation
  readonly Sort: Sort
  readonly Limit: Limit
  readonly Offset: Offset
  readonly Sample: Sample
  readonly Aggregate: Aggregate
  readonly LocalRelation: LocalRelation
  readonly Deduplicate: Deduplicate
  readonly SubqueryAlias: SubqueryAlias
  readonly Expression: Expression
  readonly Expression_Window: Expression_Window
  readonly Expression_Window_WindowFrame: Expression_Window_WindowFrame
  readonly Expression_Window_WindowFrame_FrameBoundary: Expression_Window_WindowFrame_FrameBoundary
  readonly Expression_SortOrder: Expression_SortOrder
  readonly Expression_Cast: Expression_Cast
  readonly Expression_Literal: Expression_Literal
  readonly Expression_UnresolvedAttribute: Expression_UnresolvedAttribute
  readonly Expression_UnresolvedFunction: Expression_UnresolvedFunction
  readonly Expression_Alias: Expression_Alias
  readonly Expression_UnresolvedExtractValue: Expression_UnresolvedExtractValue
  readonly DataType: DataType
  readonly DataType_Decimal: DataType_Decimal
  readonly DataType_Array: DataType_Array
  readonly DataType_Struct: DataType_Struct
  readonly DataType_StructField: DataType_StructField
  readonly DataType_Map: DataType_Map
  readonly DataType_Unparsed: DataType_Unparsed
  readonly DataType_NULL: DataType_NULL
  readonly DataType_Binary: DataType_Binary
  readonly DataType_Boolean: DataType_Boolean
  readonly DataType_Byte: DataType_Byte
  readonly DataType_Short: DataType_Short
  readonly DataType_Integer: DataType_Integer
  readonly DataType_Long: DataType_Long
  readonly DataType_Float: DataType_Float
  readonly DataType_Double: DataType_Double
  readonly DataType_String: DataType_String
  readonly DataType_Char: DataType_Char
  readonly DataType_VarChar: DataType_VarChar
  readonly DataType_Date: DataType_Date
  readonly DataType_Timestamp: DataType_Timestamp
  readonly DataType_TimestampNTZ: DataType_TimestampNTZ
}

/** Number, name, and what it holds: a scalar, or the name of a message or an enumeration. */
export type FieldRow = readonly [number: number, name: string, holds: string, form?: 'repeated' | 'map']

export const MESSAGES: Readonly<Record<keyof Messages, readonly FieldRow[]>> = {
  Plan: [[1, 'root', 'Relation']],
  UserContext: [
    [1, 'userId', 'string'],
    [2, 'userName', 'string'],
  ],
  AnalyzePlanRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'clientType', 'string'],
    [4, 'schema', 'AnalyzePlanRequest_Schema'],
    [5, 'explain', 'AnalyzePlanRequest_Explain'],
    [10, 'sparkVersion', 'AnalyzePlanRequest_SparkVersion'],
  ],
  AnalyzePlanRequest_Schema: [[1, 'plan', 'Plan']],
  AnalyzePlanRequest_Explain: [
    [1, 'plan', 'Plan'],
    [2, 'explainMode', 'AnalyzePlanRequest_Explain_ExplainMode'],
  ],
  AnalyzePlanRequest_SparkVersion: [],
  AnalyzePlanResponse: [
    [1, 'sessionId', 'string'],
    [15, 'serverSideSessionId', 'string'],
    [2, 'schema', 'AnalyzePlanResponse_Schema'],
    [3, 'explain', 'AnalyzePlanResponse_Explain'],
    [8, 'sparkVersion', 'AnalyzePlanResponse_SparkVersion'],
  ],
  AnalyzePlanResponse_Schema: [[1, 'schema', 'DataType']],
  AnalyzePlanResponse_Explain: [[1, 'explainString', 'string']],
  AnalyzePlanResponse_SparkVersion: [[1, 'version', 'string']],
  ExecutePlanRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [6, 'operationId', 'string'],
    [3, 'plan', 'Plan'],
    [4, 'clientType', 'string'],
    [5, 'requestOptions', 'ExecutePlanRequest_RequestOption', 'repeated'],
  ],
  ExecutePlanRequest_RequestOption: [[1, 'reattachOptions', 'ReattachOptions']],
  ReattachOptions: [[1, 'reattachable', 'bool']],
  ExecutePlanResponse: [
    [1, 'sessionId', 'string'],
    [15, 'serverSideSessionId', 'string'],
    [12, 'operationId', 'string'],
    [13, 'responseId', 'string'],
    [2, 'arrowBatch', 'ExecutePlanResponse_ArrowBatch'],
    [14, 'resultComplete', 'ExecutePlanResponse_ResultComplete'],
  ],
  ExecutePlanResponse_ArrowBatch: [
    [1, 'rowCount', 'int64'],
    [2, 'data', 'bytes'],
    [3, 'startOffset', 'int64'],
  ],
  ExecutePlanResponse_ResultComplete: [],
  KeyValue: [
    [1, 'key', 'string'],
    [2, 'value', 'string'],
  ],
  ConfigRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'operation', 'ConfigRequest_Operation'],
    [4, 'clientType', 'string'],
  ],
  ConfigRequest_Operation: [
    [1, 'set', 'ConfigRequest_Set'],
    [4, 'getOption', 'ConfigRequest_GetOption'],
  ],
  ConfigRequest_Set: [
    [1, 'pairs', 'KeyValue', 'repeated'],
    [2, 'silent', 'bool'],
  ],
  ConfigRequest_GetOption: [[1, 'keys', 'string', 'repeated']],
  ConfigResponse: [
    [1, 'sessionId', 'string'],
    [4, 'serverSideSessionId', 'string'],
    [2, 'pairs', 'KeyValue', 'repeated'],
    [3, 'warnings', 'string', 'repeated'],
  ],
  InterruptRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'clientType', 'string'],
    [4, 'interruptType', 'InterruptRequest_InterruptType'],
    [6, 'operationId', 'string'],
  ],
  InterruptResponse: [
    [1, 'sessionId', 'string'],
    [3, 'serverSideSessionId', 'string'],
    [2, 'interruptedIds', 'string', 'repeated'],
  ],
  ReattachExecuteRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'operationId', 'string'],
    [4, 'clientType', 'string'],
    [5, 'lastResponseId', 'string'],
  ],
  ReleaseExecuteRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'operationId', 'string'],
    [4, 'clientType', 'string'],
    [5, 'releaseAll', 'ReleaseExecuteRequest_ReleaseAll'],
    [6, 'releaseUntil', 'ReleaseExecuteRequest_ReleaseUntil'],
  ],
  ReleaseExecuteRequest_ReleaseAll: [],
  ReleaseExecuteRequest_ReleaseUntil: [[1, 'responseId', 'string']],
  ReleaseExecuteResponse: [
    [1, 'sessionId', 'string'],
    [3, 'serverSideSessionId', 'string'],
    [2, 'operationId', 'string'],
  ],
  ReleaseSessionRequest: [
    [1, 'sessionId', 'string'],
    [2, 'userContext', 'UserContext'],
    [3, 'clientType', 'string'],
  ],
  ReleaseSessionResponse: [
    [1, 'sessionId', 'string'],
    [2, 'serverSideSessionId', 'string'],
  ],
  Relation: [
    [1, 'common', 'RelationCommon'],
    [2, 'read', 'Read'],
    [3, 'project', 'Project'],
    [4, 'filter', 'Filter'],
    [5, 'join', 'Join'],
    [6, 'setOp', 'SetOperation'],
    [7, 'sort', 'Sort'],
    [8, 'limit', 'Limit'],
    [9, 'aggregate', 'Aggregate'],
    [11, 'localRelation', 'LocalRelation'],
    [14, 'deduplicate', 'Deduplicate'],
    [16, 'subqueryAlias', 'SubqueryAlias'],
    [13, 'offset', 'Offset'],
    [12, 'sample', 'Sample'],
  ],
  RelationCommon: [[2, 'planId', 'int64']],
  Read: [
    [1, 'namedTable', 'Read_NamedTable'],
    [2, 'dataSource', 'Read_DataSource'],
  ],
  Read_NamedTable: [
    [1, 'unparsedIdentifier', 'string'],
    [2, 'options', 'string', 'map'],
  ],
  Read_DataSource: [
    [1, 'format', 'string'],
    [2, 'schema', 'string'],
    [3, 'options', 'string', 'map'],
    [4, 'paths', 'string', 'repeated'],
  ],
  Project: [
    [1, 'input', 'Relation'],
    [3, 'expressions', 'Expression', 'repeated'],
  ],
  Filter: [
    [1, 'input', 'Relation'],
    [2, 'condition', 'Expression'],
  ],
  Join: [
    [1, 'left', 'Relation'],
    [2, 'right', 'Relation'],
    [3, 'joinCondition', 'Expression'],
    [4, 'joinType', 'Join_JoinType'],
  ],
  SetOperation: [
    [1, 'leftInput', 'Relation'],
    [2, 'rightInput', 'Relation'],
    [3, 'setOpType', 'SetOperation_SetOpType'],
    [4, 'isAll', 'bool'],
    [5, 'byName', 'bool'],
  ],
  Sort: [
    [1, 'input', 'Relation'],
    [2, 'order', 'Expression_SortOrder', 'repeated'],
    [3, 'isGlobal', 'bool'],
  ],
  Limit: [
    [1, 'input', 'Relation'],
    [2, 'limit', 'int32'],
  ],
  Offset: [
    [1, 'input', 'Relation'],
    [2, 'offset', 'int32'],
  ],
  Sample: [
    [1, 'input', 'Relation'],
    [2, 'lowerBound', 'double'],
    [3, 'upperBound', 'double'],
    [4, 'withReplacement', 'bool'],
    [5, 'seed', 'int64'],
  ],
  Aggregate: [
    [1, 'input', 'Relation'],
    [2, 'groupType', 'Aggregate_GroupType'],
    [3, 'groupingExpressions', 'Expression', 'repeated'],
    [4, 'aggregateExpressions', 'Expression', 'repeated'],
  ],
  LocalRelation: [
    [1, 'data', 'bytes'],
    [2, 'schema', 'string'],
  ],
  Deduplicate: [
    [1, 'input', 'Relation'],
    [2, 'columnNames', 'string', 'repeated'],
    [3, 'allColumnsAsKeys', 'bool'],
  ],
  SubqueryAlias: [
    [1, 'input', 'Relation'],
    [2, 'alias', 'string'],
    [3, 'qualifier', 'string', 'repeated'],
  ],
  Expression: [
    [1, 'literal', 'Expression_Literal'],
    [2, 'unresolvedAttribute', 'Expression_UnresolvedAttribute'],
    [3, 'unresolvedFunction', 'Expression_UnresolvedFunction'],
    [6, 'alias', 'Expression_Alias'],
    [7, 'cast', 'Expression_Cast'],
    [9, 'sortOrder', 'Expression_SortOrder'],
    [11, 'window', 'Expression_Window'],
    [12, 'unresolvedExtractValue', 'Expression_UnresolvedExtractValue'],
  ],
  Expression_Window: [
    [1, 'windowFunction', 'Expression'],
    [2, 'partitionSpec', 'Expression', 'repeated'],
    [3, 'orderSpec', 'Expression_SortOrder', 'repeated'],
    [4, 'frameSpec', 'Expression_Window_WindowFrame'],
  ],
  Expression_Window_WindowFrame: [
    [1, 'frameType', 'Expression_Window_WindowFrame_FrameType'],
    [2, 'lower', 'Expression_Window_WindowFrame_FrameBoundary'],
    [3, 'upper', 'Expression_Window_WindowFrame_FrameBoundary'],
  ],
  Expression_Window_WindowFrame_FrameBoundary: [
    [1, 'currentRow', 'bool'],
    [2, 'unbounded', 'bool'],
    [3, 'value', 'Expression'],
  ],
  Expression_SortOrder: [
    [1, 'child', 'Expression'],
    [2, 'direction', 'Expression_SortOrder_SortDirection'],
    [3, 'nullOrdering', 'Expression_SortOrder_NullOrdering'],
  ],
  Expression_Cast: [
    [1, 'expr', 'Expression'],
    [2, 'type', 'DataType'],
    [3, 'typeStr', 'string'],
  ],
  Expression_Literal: [
    [1, 'null', 'DataType'],
    [2, 'binary', 'bytes'],
    [3, 'boolean', 'bool'],
    [6, 'integer', 'int32'],
    [7, 'long', 'int64'],
    [11, 'double', 'double'],
    [13, 'string', 'string'],
    [16, 'date', 'int32'],
    [17, 'timestamp', 'int64'],
  ],
  Expression_UnresolvedAttribute: [
    [1, 'unparsedIdentifier', 'string'],
    [2, 'planId', 'int64'],
  ],
  Expression_UnresolvedFunction: [
    [1, 'functionName', 'string'],
    [2, 'arguments', 'Expression', 'repeated'],
    [3, 'isDistinct', 'bool'],
  ],
  Expression_Alias: [
    [1, 'expr', 'Expression'],
    [2, 'name', 'string', 'repeated'],
  ],
  Expression_UnresolvedExtractValue: [
    [1, 'child', 'Expression'],
    [2, 'extraction', 'Expression'],
  ],
  DataType: [
    [1, 'null', 'DataType_NULL'],
    [2, 'binary', 'DataType_Binary'],
    [3, 'boolean', 'DataType_Boolean'],
    [4, 'byte', 'DataType_Byte'],
    [5, 'short', 'DataType_Short'],
    [6, 'integer', 'DataType_Integer'],
    [7, 'long', 'DataType_Long'],
    [8, 'float', 'DataType_Float'],
    [9, 'double', 'DataType_Double'],
    [10, 'decimal', 'DataType_Decimal'],
    [11, 'string', 'DataType_String'],
    [12, 'char', 'DataType_Char'],
    [13, 'varChar', 'DataType_VarChar'],
    [14, 'date', 'DataType_Date'],
    [15, 'timestamp', 'DataType_Timestamp'],
    [16, 'timestampNtz', 'DataType_TimestampNTZ'],
    [20, 'array', 'DataType_Array'],
    [21, 'struct', 'DataType_Struct'],
    [22, 'map', 'DataType_Map'],
    [24, 'unparsed', 'DataType_Unparsed'],
  ],
  DataType_Decimal: [
    [1, 'scale', 'int32'],
    [2, 'precision', 'int32'],
  ],
  DataType_Array: [
    [1, 'elementType', 'DataType'],
    [2, 'containsNull', 'bool'],
  ],
  DataType_Struct: [[1, 'fields', 'DataType_StructField', 'repeated']],
  DataType_StructField: [
    [1, 'name', 'string'],
    [2, 'dataType', 'DataType'],
    [3, 'nullable', 'bool'],
  ],
  DataType_Map: [
    [1, 'keyType', 'DataType'],
    [2, 'valueType', 'DataType'],
    [3, 'valueContainsNull', 'bool'],
  ],
  DataType_Unparsed: [[1, 'dataTypeString', 'string']],
  DataType_NULL: [],
  DataType_Binary: [],
  DataType_Boolean: [],
  DataType_Byte: [],
  DataType_Short: [],
  DataType_Integer: [],
  DataType_Long: [],
  DataType_Float: [],
  DataType_Double: [],
  DataType_String: [],
  DataType_Char: [],
  DataType_VarChar: [],
  DataType_Date: [],
  DataType_Timestamp: [],
  DataType_TimestampNTZ: [],
}

export const ENUMS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  AnalyzePlanRequest_Explain_ExplainMode: {
    EXPLAIN_MODE_UNSPECIFIED: 0,
    EXPLAIN_MODE_SIMPLE: 1,
    EXPLAIN_MODE_EXTENDED: 2,
    EXPLAIN_MODE_CODEGEN: 3,
    EXPLAIN_MODE_COST: 4,
    EXPLAIN_MODE_FORMATTED: 5,
  },
  InterruptRequest_InterruptType: {
    INTERRUPT_TYPE_UNSPECIFIED: 0,
    INTERRUPT_TYPE_ALL: 1,
    INTERRUPT_TYPE_TAG: 2,
    INTERRUPT_TYPE_OPERATION_ID: 3,
  },
  Join_JoinType: {
    JOIN_TYPE_UNSPECIFIED: 0,
    JOIN_TYPE_INNER: 1,
    JOIN_TYPE_FULL_OUTER: 2,
    JOIN_TYPE_LEFT_OUTER: 3,
    JOIN_TYPE_RIGHT_OUTER: 4,
    JOIN_TYPE_LEFT_ANTI: 5,
    JOIN_TYPE_LEFT_SEMI: 6,
    JOIN_TYPE_CROSS: 7,
  },
  SetOperation_SetOpType: {
    SET_OP_TYPE_UNSPECIFIED: 0,
    SET_OP_TYPE_INTERSECT: 1,
    SET_OP_TYPE_UNION: 2,
    SET_OP_TYPE_EXCEPT: 3,
  },
  Aggregate_GroupType: {
    GROUP_TYPE_UNSPECIFIED: 0,
    GROUP_TYPE_GROUPBY: 1,
    GROUP_TYPE_ROLLUP: 2,
    GROUP_TYPE_CUBE: 3,
    GROUP_TYPE_PIVOT: 4,
    GROUP_TYPE_GROUPING_SETS: 5,
  },
  Expression_Window_WindowFrame_FrameType: {
    FRAME_TYPE_UNDEFINED: 0,
    FRAME_TYPE_ROW: 1,
    FRAME_TYPE_RANGE: 2,
  },
  Expression_SortOrder_SortDirection: {
    SORT_DIRECTION_UNSPECIFIED: 0,
    SORT_DIRECTION_ASCENDING: 1,
    SORT_DIRECTION_DESCENDING: 2,
  },
  Expression_SortOrder_NullOrdering: {
    SORT_NULLS_UNSPECIFIED: 0,
    SORT_NULLS_FIRST: 1,
    SORT_NULLS_LAST: 2,
  },
}
