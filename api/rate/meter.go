package rate

// Meter charges a payer for the bytes of a transfer as they are sent or received. It leaves
// a debt of at most one second, so that a large transfer does not keep the other clients
// at its address from being served once it is over. Calls must not be concurrent.
type Meter struct {
	payer        *Payer
	bytesPerUnit int
	unpaid       int // bytes
}

// NewMeter returns a Meter that charges one unit for each bytesPerUnit bytes.
func NewMeter(payer *Payer, bytesPerUnit int) Meter {
	return Meter{payer: payer, bytesPerUnit: bytesPerUnit}
}

// Add charges for n more bytes.
func (m *Meter) Add(n int) {
	m.unpaid += n
	if units := m.unpaid / m.bytesPerUnit; units > 0 {
		m.payer.chargeOwing(units, maxBytesDebt)
		m.unpaid -= units * m.bytesPerUnit
	}
}
