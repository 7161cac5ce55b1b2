package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// arrayCodec encodes slices of strings or integers as arguments of statements. The
// embedded codec of pgx supports elements of any type, and therefore inspects and copies
// each element first.
type arrayCodec struct{ *pgtype.ArrayCodec }

// registerArrayCodec registers arrayCodec on a connection.
func registerArrayCodec(c *pgx.Conn) {
	types := c.TypeMap()
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.Int8ArrayOID} {
		known, _ := types.TypeForOID(oid)
		if codec, ok := known.Codec.(*pgtype.ArrayCodec); ok {
			types.RegisterType(&pgtype.Type{Name: known.Name, OID: oid, Codec: arrayCodec{codec}})
		}
	}
}

// PlanEncode implements pgtype.Codec.
func (a arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string:
			return encodeStrings{}
		case []int64:
			return encodeInts{}
		}
	}
	return a.ArrayCodec.PlanEncode(m, oid, format, value)
}

type (
	encodeStrings struct{}
	encodeInts    struct{}
)

func (encodeStrings) Encode(value any, buf []byte) ([]byte, error) {
	texts, _ := value.([]string)
	if texts == nil {
		return nil, nil
	}
	buf = beginArray(buf, pgtype.TextOID, len(texts))
	for _, s := range texts {
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(s))), s...)
	}
	return buf, nil
}

func (encodeInts) Encode(value any, buf []byte) ([]byte, error) {
	numbers, _ := value.([]int64)
	if numbers == nil {
		return nil, nil
	}
	buf = beginArray(buf, pgtype.Int8OID, len(numbers))
	for _, n := range numbers {
		buf = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(buf, 8), uint64(n))
	}
	return buf, nil
}

// beginArray appends the header of an array: the number of dimensions, whether there are
// nulls, the element type, and the length and lower bound of the only dimension.
func beginArray(buf []byte, oid uint32, n int) []byte {
	head := [...]uint32{1, 0, oid, uint32(n), 1}
	for _, word := range head {
		buf = binary.BigEndian.AppendUint32(buf, word)
	}
	return buf
}
