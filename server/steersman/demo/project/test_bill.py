"""What a split bill must be."""

import unittest

from bill import receipt, shares


class SharesTest(unittest.TestCase):
    def test_an_even_bill_is_split_evenly(self) -> None:
        self.assertEqual(shares(900, 3), [300, 300, 300])

    def test_no_cent_is_lost(self) -> None:
        self.assertEqual(sum(shares(1000, 3)), 1000)

    def test_the_first_pay_the_odd_cents(self) -> None:
        self.assertEqual(shares(1001, 3), [334, 334, 333])

    def test_a_bill_without_people_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            shares(100, 0)


class ReceiptTest(unittest.TestCase):
    def test_each_person_has_a_line(self) -> None:
        self.assertEqual(receipt(1000, ["Ada", "Bo"]), "Ada: 5.00\nBo: 5.00")


if __name__ == "__main__":
    unittest.main()
